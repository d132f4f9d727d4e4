// An answer as a record that grows with each chunk, and what its parts mean. Knows no element.

export const PROPOSED = {
  both: "proposed by both sides",
  device: "proposed by the device",
  cloud: "proposed by the cloud",
  resampled: "drawn anew: neither side's proposal",
  solo: "written by one side alone",
};
const FINISHES = {
  length: "cut at the longest length",
  cancelled: "stopped",
  unknown: "nothing that was read is about this question",
};
const MIN_SHARE = 0.0005;

export function newAnswer() {
  return { tokens: [], notices: [], shares: [], sources: [], unsupported: [], finish: "", error: "", id: "", left: null, over: false };
}

export function textOf(answer) {
  return answer.tokens.map(([text]) => text).join("");
}

export function take(answer, chunk) {
  const { delta = {} } = chunk.choices[0] ?? {};
  const { source, notice, step, shares } = delta.hocket ?? {};
  if (source) answer.tokens.push([delta.content, source]);
  if (notice) answer.notices.push(notice);
  if (shares) shares.forEach((each, at) => (answer.shares[step + at] = each));
  if (chunk.hocket) end(answer, chunk.hocket, chunk.search_results ?? []);
}

function end(answer, facts, results) {
  const { id, finish, routing, unsupported, notices } = facts;
  Object.assign(answer, { id, finish, routing, unsupported, notices });
  answer.sources = facts.sources.map((source) => ({ ...source, ...resultOf(source, results) }));
}

function resultOf(source, results) {
  const same = (each) => ["side", "document", "ordinal"].every((name) => each[name] === source[name]);
  const { title, snippet } = (source.document && results.find(same)) || { title: unnamed(source), snippet: "" };
  return { title, text: snippet, name: title.slice(source.document.lastIndexOf("/") + 1) };
}

function unnamed({ side, document, ordinal }) {
  return document ? `${document}, passage ${ordinal}` : `passages of the ${side} that are not named`;
}

// The sources with a share worth a bar, the largest first.
export function shown(answer) {
  return answer.sources.filter(({ share }) => share >= MIN_SHARE).sort((one, other) => other.share - one.share);
}

export function finishOf(answer) {
  return answer.error || (FINISHES[answer.finish] ?? "");
}

// The text in pieces that are of one token, and either in a passage or in none: {text, source, token, unsupported}.
// Spans count characters as Python does: by code point.
export function pieces(answer) {
  const found = [];
  let at = 0;
  answer.tokens.forEach(([text, source], token) => {
    for (const character of text) {
      const unsupported = answer.unsupported.some(([start, end]) => start <= at && at < end);
      const last = found.at(-1);
      if (last?.token === token && last.unsupported === unsupported) last.text += character;
      else found.push({ text: character, source, token, unsupported });
      at += 1;
    }
  });
  return found;
}

// What left this device for an answer, in one line, from what is known of it.
export function leftLine(model, answer) {
  if (answer.error) return "What left this device: hocket audit.";
  if (answer.left !== null) return meter(Object.entries(answer.left));
  if (model === "hocket-alone" || answer.routing?.way === "home") return "The cloud was told nothing.";
  const together = answer.tokens.some(([, source]) => source !== "solo");
  return together ? "The cloud read the question and wrote the answer, too." : "One side wrote the answer.";
}

function meter(left) {
  const parts = left.map(([kind, bytes]) => `${kind} ${size(bytes)}`);
  return parts.length ? `Left this device meanwhile: ${parts.join(", ")}.` : "Nothing left this device meanwhile.";
}

// The bytes by class that left between two states of the pair; null where they are not shown.
export function leftBetween(before, after) {
  if (!before?.left || !after?.left) return null;
  const grown = Object.entries(after.left).map(([kind, bytes]) => [kind, bytes - (before.left[kind] ?? 0)]);
  return Object.fromEntries(grown.filter(([kind, bytes]) => bytes > 0 && kind !== "control"));
}

function size(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`;
}
