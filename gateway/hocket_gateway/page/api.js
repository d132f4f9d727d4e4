// The gateway's paths. A key is sent where one was entered; it stays in this tab's session.

import { say } from "./words.js";

const KEY = "hocket-key";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function setKey(key) {
  sessionStorage.setItem(KEY, key);
}

export function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...more, authorization: `Bearer ${key}` } : more;
}

async function checked(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Refused(response.status, body?.error?.message ?? say("the gateway answered {status}", { status: response.status }));
}

async function asked(path, options) {
  try {
    return await checked(await fetch(path, { cache: "no-store", ...options }));
  } catch (error) {
    if (error instanceof TypeError) throw new Refused(0, say("the gateway does not answer: start hocket serve"));
    throw error;
  }
}

async function get(path) {
  return asked(path, { headers: headers() });
}

export async function models() {
  return (await (await get("v1/models")).json()).data;
}

export async function status() {
  return (await get("status")).json();
}

export async function documents(offset = 0) {
  return (await get(`documents?offset=${offset}`)).json();
}

export async function skippedFiles(offset = 0) {
  return (await get(`skipped?offset=${offset}`)).json();
}

export async function watchedFolders() {
  return (await (await get("watched")).json()).folders;
}

// The folder's whole path; resolves with all folders, as do the others.
export async function watchFolder(path) {
  return watched(path, "PUT");
}

export async function unwatchFolder(path) {
  return watched(path, "DELETE");
}

async function watched(path, method) {
  return (await (await asked(`watched/${encodeURIComponent(path)}`, { method, headers: headers() })).json()).folders;
}

export async function removeDocument(name) {
  await asked(`documents/${encodeURIComponent(name)}`, { method: "DELETE", headers: headers() });
}

export async function documentText(name) {
  return (await get(`documents/${encodeURIComponent(name)}`)).text();
}

// The Markdown of a text as a tree: strings, and [tag, children]; null where it is too large.
export async function layout(text) {
  const options = { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify({ text }) };
  return (await (await asked("markdown", options)).json()).tree;
}

// The bits that documents disclosed in all answers, the most first.
export async function account() {
  return (await get("account")).json();
}

// The record of an answer, as hocket explain has it, with those of its parts.
export async function explanation(id) {
  const { record } = await (await get(`explanations/${id}`)).json();
  return { ...record, parts: await Promise.all((record.parts ?? []).map(({ ID }) => explanation(ID))) };
}

export async function cutLink(cut) {
  return (await post("link", { cut })).json();
}

// What may follow a text, as it comes: {text, sources}. Aborting `signal` asks no more.
export async function* suggestions(text, signal) {
  const response = await post("composing", text, signal);
  for await (const data of events(response.body)) {
    const found = JSON.parse(data);
    if (found.error) throw new Refused(200, found.error.message);
    yield found;
  }
}

async function post(path, body, signal) {
  const options = { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body), signal };
  return asked(path, options);
}

// The chunks of an answer as they come; `drawing` says how its tokens are drawn. Aborting `signal` closes the connection,
// which cancels the question.
export async function* answerChunks(model, messages, drawing, signal) {
  const response = await post("v1/chat/completions", { model, messages, ...drawing, shares: true, marks: false, stream: true }, signal);
  for await (const data of events(response.body)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new Refused(200, chunk.error.message);
    yield chunk;
  }
  throw new Refused(200, say("the connection to the gateway was cut"));
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await read(reader);
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) if (block.startsWith("data: ")) yield block.slice(6);
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error instanceof TypeError) return { done: true }; // cut, as if it had ended early
    throw error;
  }
}
