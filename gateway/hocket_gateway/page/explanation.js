// Why an answer is as it is, and what the cloud saw of it: from its record, as elements.

import { gateLine, size, textOf } from "./answers.js";
import { made, seconds } from "./dom.js";

const MEANINGS = {
  query: "the question, word for word",
  history: "earlier turns of the conversation that the cloud had read before",
  targets: "tokens of the answer that the cloud did not know yet",
  drafts: "this device's next-token distributions, which tell the cloud each token of the answer",
  control: "session control, such as start and end; no words",
  memory: "new parts of the text being written",
  passages: "passages, for the server that runs this device's model",
};

// How it was decided, what happened between the sides, and where the time went; without a record as far as is known.
export function why({ model, answer }, record) {
  const { routing } = answer;
  const lines = [`Asked as ${model}.`];
  if (routing) lines.push(`Way: ${routing.way}; ${routing.why}.`);
  if (routing?.gate) lines.push(gateLine(routing.gate));
  const parts = lines.map((textContent) => made("p", { textContent }));
  if (record) parts.push(...(record.parts.length ? record.parts.flatMap((part) => course(part, part.question)) : course(record)));
  if (answer.notices.length) parts.push(heading("Notices"), list(answer.notices));
  return parts;
}

// Where the time went and what happened between the sides, of an answer or of a part of one, which has a `name`.
function course({ times_s, links, cloud }, name) {
  const of = name ? `: ${name}` : "";
  return [
    ...(times_s ? [heading(`Where the time went${of}`), timeLine(spansOf({ times_s, cloud }), times_s.all)] : []),
    ...(links?.length ? [heading(`Between the sides${of}`), events(links)] : []),
  ];
}

// What left, by class, in the order in which the classes began.
export function left(turn, record) {
  if (!record) return [];
  const rows = record.left ?? [];
  if (!rows.length) return [made("p", { textContent: "Nothing left this device for this answer." })];
  const told = rows.some((row) => row.class === "drafts") ? "drafts" : "targets"; // what tells the answer
  const whole = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const end = Math.max(...rows.map(({ to_s }) => to_s));
  const spans = rows.map((row) => ({
    name: row.class,
    from: row.from_s,
    to: row.to_s,
    value: `${size(row.bytes)} in ${row.messages === 1 ? "1 message" : `${row.messages} messages`}`,
    more: meaningOf(row.class, told, turn),
  }));
  const intro = `${size(whole)} left for this answer, counted before encryption. Time runs from the first byte to the last, ${seconds(end)} later.`;
  return [made("p", { textContent: intro }), timeLine(spans, end)];
}

function meaningOf(kind, told, { question, answer }) {
  const meaning = made("p", { textContent: `${MEANINGS[kind] ?? "see docs/privacy.md"}.` });
  const words = kind === "query" ? question : kind === told ? jointText(answer) : "";
  return words ? [meaning, made("blockquote", { textContent: words })] : [meaning];
}

// As far as the cloud was in it: what one side wrote alone behind that it has not seen.
function jointText(answer) {
  const last = answer.tokens.findLastIndex(([, source]) => source !== "solo");
  return textOf({ tokens: answer.tokens.slice(0, last + 1) });
}

function spansOf({ times_s, cloud }) {
  const { search, prefill, all } = times_s;
  const first = times_s["first token"] ?? all;
  const read = search + prefill;
  const spans = [
    { name: "search", from: 0, to: search },
    { name: "prefill", from: search, to: read },
    { name: "first token", from: Math.min(read, first), to: first },
    { name: "the rest", from: first, to: all },
  ];
  const there = cloud?.times_s;
  if (there) {
    spans.push({ name: "cloud: search", from: 0, to: there.search });
    spans.push({ name: "cloud: prefill", from: there.search, to: there.search + there.prefill });
  }
  return spans.filter(({ from, to }) => Number.isFinite(from) && Number.isFinite(to));
}

function timeLine(spans, end) {
  const list = made("ol", { className: "timeline", ariaLabel: "Time line" });
  list.append(...spans.map((span) => rowOf(span, end)));
  return list;
}

function rowOf({ name, from, to, value, more = [] }, end) {
  const bar = made("span", { className: "bar", ariaHidden: "true" });
  const part = (time) => `${end ? Math.min(100, (100 * time) / end) : 0}%`;
  bar.style.marginLeft = `min(${part(from)}, 100% - 2px)`;
  bar.style.width = part(to - from);
  const shown = value ?? seconds(to - from);
  return made("li", {}, made("span", { className: "name", textContent: name }), made("span", { className: "track" }, bar), made("span", { className: "value", textContent: shown }), ...more);
}

function events(links) {
  return list(links.map(({ t_s, what }) => `${seconds(t_s)}: ${what}`));
}

function list(texts) {
  const shown = made("ul", { className: "lines" });
  shown.append(...texts.map((textContent) => made("li", { textContent })));
  return shown;
}

function heading(textContent) {
  return made("h3", { textContent });
}
