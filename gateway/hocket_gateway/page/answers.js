// An answer as a record that grows with each chunk, and what its parts mean. Knows no element.

import { say } from "./words.js";

export const PROPOSED = {
  both: "proposed by both sides",
  device: "proposed by the device",
  cloud: "proposed by the cloud",
  resampled: "resampled: neither side's proposal",
  solo: "written by one side alone",
};
const FINISHES = {
  length: "cut at the length limit",
  cancelled: "stopped",
  unknown: "no passage that could be read is about this question",
};
const MIN_SHARE = 0.0005;

export function newAnswer() {
  return { tokens: [], thought: "", notices: [], waiting: "", shares: [], sources: [], unsupported: [], finish: "", error: "", id: "", left: null, live: null, over: false };
}

export function textOf(answer) {
  return answer.tokens.map(([text]) => text).join("");
}

export function take(answer, chunk) {
  const { delta = {} } = chunk.choices[0] ?? {};
  const { source, notice, waiting, step, places, shares } = delta.hocket ?? {};
  if (source) answer.tokens.push([delta.content, source]);
  if (notice) answer.notices.push(notice);
  answer.waiting = waiting ? say("{party} is reading, {part} %", { party: say(waiting.party), part: Math.round(100 * waiting.read) }) : "";
  if (delta.reasoning_content) answer.thought += delta.reasoning_content;
  if (source && shares) comesFrom(answer, places, shares);
  else if (shares) shares.forEach((each, at) => (answer.shares[step + at] = each));
  if (chunk.hocket) end(answer, chunk.hocket, chunk.search_results ?? []);
}

// While it is written: the sum of each passage's shares so far. The last one is what the cloud has, which names its
// passages at the end.
function comesFrom(answer, places, shares) {
  answer.live ??= { places: [...(places ?? []), { side: "cloud", device: "", document: "", ordinal: 0 }], sums: [], number: 0 };
  shares.forEach((share, at) => (answer.live.sums[at] = (answer.live.sums[at] ?? 0) + share));
  answer.live.number += 1;
}

// The passages of an answer that is being written, with their shares so far.
export function liveSources({ live }) {
  if (!live) return [];
  const named = live.places.map((place, at) => ({ ...place, share: live.sums[at] / live.number, ...resultOf(place, []) }));
  return named.filter(({ share }) => share >= MIN_SHARE);
}

function end(answer, facts, results) {
  const { id, finish, routing, unsupported, notices, members } = facts;
  Object.assign(answer, { id, finish, routing, unsupported, notices, members, live: null });
  answer.sources = facts.sources.map((source) => ({ ...source, ...resultOf(source, results) }));
}

function resultOf(source, results) {
  const same = (each) => ["side", "document", "ordinal"].every((name) => each[name] === source[name]);
  const { title, snippet } = (source.document && results.find(same)) || { title: unnamed(source), snippet: "" };
  return { title, text: snippet, name: title.slice(source.document.lastIndexOf("/") + 1) };
}

function unnamed({ side, document, ordinal }) {
  if (document) return say("{document}, part {number}", { document, number: ordinal + 1 });
  return say(side === "device" ? "passages of the device that are not named" : "passages of the cloud that are not named");
}

// The sources with a share worth a bar, the largest first.
export function shown(answer) {
  return answer.sources.filter(({ share }) => share >= MIN_SHARE).sort((one, other) => other.share - one.share);
}

// The gate's decision, with its number.
export function gateLine({ decision, metric, threshold, reason }) {
  const values = { metric: metric.toFixed(3), threshold: threshold.toFixed(3), reason };
  if (decision === "home") return say("Gate: {metric} against {threshold}, so it stays on this device; {reason}.", values);
  return say("Gate: {metric} against {threshold}, so it goes beyond this device; {reason}.", values);
}

export function wayLine({ way, why }) {
  return say("Way: {way}; {why}.", { way, why });
}

export function finishOf(answer) {
  return answer.error || say(FINISHES[answer.finish] ?? "");
}

// The tokens from one to before another in pieces that are either in a passage or in none: {text, source, token,
// unsupported}. `at` counts the characters before the first, as Python counts them: by code point.
export function pieces(answer, from = 0, to = answer.tokens.length, at = 0) {
  return answer.tokens.slice(from, to).flatMap(([text, source], index) => {
    const token = from + index;
    const start = at;
    at += lengthOf(text);
    const spans = answer.unsupported.filter(([first, end]) => first < at && end > start);
    if (!text || !spans.length) return [{ text, source, token, unsupported: false }];
    return cut(text, start, spans).map((piece) => ({ ...piece, source, token }));
  });
}

function cut(text, at, spans) {
  const found = [];
  for (const character of text) {
    const unsupported = spans.some(([start, end]) => start <= at && at < end);
    if (found.at(-1)?.unsupported === unsupported) found.at(-1).text += character;
    else found.push({ text: character, unsupported });
    at += 1;
  }
  return found;
}

// Of a text, in code points.
export function lengthOf(text) {
  let number = 0;
  for (const _ of text) number += 1;
  return number;
}

// Which devices were asked for an answer, as far as is known: {name, state, why, share}.
export function devicesOf(answer) {
  const found = new Map();
  const be = (name, state, why = "") => found.set(name, { name, state, why, share: found.get(name)?.share ?? 0 });
  for (const name of answer.routing?.matched ?? []) be(name, "asked");
  for (const notice of answer.notices) {
    const [, name, why] = /^(\S+?)(?:, whose summaries match,)? ((?:is not|has not|has gone|has no passages) .+)$/.exec(notice) ?? [];
    if (name) be(name, why.startsWith("has no passages") ? "declined" : "absent", why);
  }
  for (const { name, steps, accept } of answer.members ?? []) {
    if (name !== "cloud" && steps.length) be(name, "drafted", say("drafted too, {part}% accepted", { part: Math.round(100 * accept) }));
  }
  for (const { device, share } of answer.sources) {
    if (!device) continue;
    if (found.get(device)?.state !== "drafted") be(device, "answered");
    found.get(device).share += share;
  }
  return [...found.values()];
}

// What left this device for an answer, in one line, from what is known of it.
export function leftLine(model, answer) {
  if (answer.error) return say("What left this device: hocket audit.");
  if (answer.left !== null) return meter(Object.entries(answer.left));
  if (model === "hocket-alone" || answer.routing?.way === "home") return say("Nothing was sent to the cloud.");
  const together = answer.tokens.some(([, source]) => source !== "solo");
  return say(together ? "The cloud read the question and helped write the answer." : "One side wrote the answer.");
}

function meter(left) {
  const classes = left.map(([kind, bytes]) => `${say(kind)} ${size(bytes)}`).join(", ");
  return classes ? say("Left this device meanwhile: {classes}.", { classes }) : say("Nothing left this device meanwhile.");
}

// The bytes by class that left between two states of the pair; null where they are not shown.
export function leftBetween(before, after) {
  if (!before?.left || !after?.left) return null;
  const grown = Object.entries(after.left).map(([kind, bytes]) => [kind, bytes - (before.left[kind] ?? 0)]);
  return Object.fromEntries(grown.filter(([kind, bytes]) => bytes > 0 && kind !== "control"));
}

export function size(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`;
}
