// A file on its way to the gateway, which reads it: how much of it has gone, and how many of its passages are read.

import { Refused, headers } from "./api.js";
import { count, say } from "./words.js";

// Resolves with what became of it: {name, outcome, passages, notices}. `told` is called with the part from 0 to 1 and
// words. A request of the older kind: of the newer ones, none tells how much has gone.
export function upload(file, told) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const name = (file.webkitRelativePath || file.name).split("/").map(encodeURIComponent).join("/");
    request.open("PUT", `documents/${name}`);
    for (const [key, value] of Object.entries(headers({ accept: "text/event-stream" }))) request.setRequestHeader(key, value);
    request.upload.onprogress = ({ loaded, total }) => told(total ? (0.5 * loaded) / total : 0, say("sent"));
    request.onprogress = () => latest(request, told);
    request.onerror = () => reject(new Refused(0, say("the gateway does not answer: start hocket serve")));
    request.onload = () => end(request, resolve, reject);
    request.send(file);
  });
}

function latest(request, told) {
  const { progress, waiting } = eventsOf(request).at(-1) ?? {};
  if (waiting) told(0.5, say("waiting for other files"));
  else if (progress) told(0.5 + (progress.of ? (0.5 * progress.passages) / progress.of : 0), count(progress.passages, "1 passage", "{number} passages"));
}

function end(request, resolve, reject) {
  const last = request.status < 400 ? eventsOf(request).at(-1) : parsed(request.responseText);
  if (last?.outcome) resolve(last);
  else reject(new Refused(request.status, last?.error?.message ?? say("the gateway answered {status}", { status: request.status })));
}

// Those that are whole.
function eventsOf({ status, responseText }) {
  if (status !== 200) return [];
  const blocks = responseText.split("\n\n").slice(0, -1);
  return blocks.filter((block) => block.startsWith("data: ")).map((block) => parsed(block.slice(6)));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
