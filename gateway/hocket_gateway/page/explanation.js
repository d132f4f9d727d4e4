// Why an answer is as it is, and what the cloud saw of it: from its record, as elements.

import { gateLine, shown, size, textOf, wayLine } from "./answers.js";
import { made, percent, seconds } from "./dom.js";
import { noticeText } from "./notices.js";
import { count, language, say } from "./words.js";

const MEANINGS = {
  query: "the question, word for word",
  history: "earlier turns of the conversation that the cloud had read before",
  targets: "tokens of the answer that the cloud did not know yet",
  drafts: "this device's next-token distributions, which tell the cloud each token of the answer",
  control: "session control, such as start and end; no words",
  memory: "new parts of the text being written",
  passages: "passages, for the server that runs this device's model",
};

const MIN_BITS = 0.1;
const MOST_WORDS = 12;
const WRITERS = { both: "by both sides", device: "by the device alone", cloud: "by the cloud alone", resampled: "by neither side", solo: "by the only side that wrote" };

// What was found, who wrote it, and what it hangs on: a sentence for each, as far as is known.
export function because(answer, record) {
  if (record && "answered from" in record) return [say("It was answered from the list of documents; no model wrote it.")];
  return [foundIn(record), writtenBy(answer), hangsOn(answer)].filter(Boolean);
}

function foundIn(record) {
  if (!record) return "";
  if (record.parts.length) return say("The question has {number} parts, and each was asked by itself.", { number: record.parts.length });
  const here = record.passages?.length;
  const there = record.cloud?.passages;
  if (here === undefined) return "";
  const best = record.passages.reduce((most, each) => Math.max(most, each.score), 0);
  const first = here
    ? say("This device read {passages}; the best fits the question with {score} of 1.", { passages: passages(here), score: best.toFixed(2) })
    : say("This device found no passage.");
  return there === undefined ? first : `${first} ${say("The cloud read {passages} of its own.", { passages: passages(there) })}`;
}

function writtenBy({ tokens, finish }) {
  if (finish === "unknown") return say("No model wrote it, since nothing that could be read is about the question.");
  const number = (way) => tokens.filter(([, source]) => source === way).length;
  const named = Object.keys(WRITERS).filter(number).map((way) => `${say(WRITERS[way])} (${number(way)})`);
  const ways = new Intl.ListFormat(language).format(named);
  if (!ways) return "";
  return tokens.length === 1 ? say("Its 1 token was proposed {ways}.", { ways }) : say("Its {number} tokens were proposed {ways}.", { number: tokens.length, ways });
}

function hangsOn(answer) {
  const [first, second] = shown(answer);
  if (!first) return say("It hangs on no document.");
  const also = second && second.share >= 0.1 ? say(", then on {name} with {share}", { name: second.name, share: percent(second.share) }) : "";
  const lacking = answer.unsupported.length ? `; ${count(answer.unsupported.length, "1 word of it stands in no passage", "{number} words of it stand in no passage")}` : "";
  return `${say("It hangs most on {name}, with {share}", { name: first.name, share: percent(first.share) })}${also}${lacking}.`;
}

function passages(number) {
  return count(number, "1 passage", "{number} passages");
}

// How it was decided, what happened between the sides, and where the time went; without a record as far as is known.
export function why({ model, answer }, record) {
  const { routing } = answer;
  const lines = [...because(answer, record), say("Asked as {model}.", { model })];
  if (routing) lines.push(wayLine(routing));
  if (routing?.gate) lines.push(gateLine(routing.gate));
  const parts = lines.map((textContent) => made("p", { textContent }));
  if (record) parts.push(...(record.parts.length ? record.parts.flatMap((part) => course(part, part.question)) : course(record)));
  if (answer.notices.length) parts.push(heading(say("Notices")), list(answer.notices.map(noticeText)));
  return parts;
}

// Where the time went and what happened between the sides, of an answer or of a part of one, which has a `name`.
function course({ times_s, links, cloud }, name) {
  const of = name ? `: ${name}` : "";
  return [
    ...(times_s ? [heading(`${say("Where the time went")}${of}`), timeLine(spansOf({ times_s, cloud }), times_s.all)] : []),
    ...(links?.length ? [heading(`${say("Between the sides")}${of}`), events(links)] : []),
  ];
}

// What left, by class, in the order in which the classes began.
export function left(turn, record) {
  if (!record) return [];
  const rows = record.left ?? [];
  if (!rows.length) return [made("p", { textContent: say("Nothing left this device for this answer.") })];
  const told = rows.some((row) => row.class === "drafts") ? "drafts" : "targets"; // what tells the answer
  // The words of a class: each part's question with its own row, the answer with the first one.
  const wordsOf = (kind, earlier) => {
    if (kind === "query") return record.parts[earlier]?.question ?? turn.question;
    return kind === told && !earlier ? jointText(turn.answer) : "";
  };
  const whole = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const end = Math.max(...rows.map(({ to_s }) => to_s));
  const spans = rows.map((row, at) => ({
    name: say(row.class),
    from: row.from_s,
    to: row.to_s,
    value: count(row.messages, "{size} in 1 message", "{size} in {number} messages", { size: size(row.bytes) }),
    more: meaningOf(row.class, wordsOf(row.class, rows.slice(0, at).filter((each) => each.class === row.class).length)),
  }));
  const bits = disclosedBits(record);
  const intro = say("{size} left for this answer, counted before encryption. Time runs from the first byte to the last, {time} later.", { size: size(whole), time: seconds(end) });
  return [made("p", { textContent: intro }), timeLine(spans, end), ...bits];
}

// With words alone that leave: the bits of each document, and of the words that disclosed the most.
function disclosedBits({ disclosed, words = [] }) {
  const documents = (disclosed ?? []).filter(({ bits }) => bits >= MIN_BITS);
  if (!documents.length) return [];
  const most = words.toSorted((one, other) => other.bits - one.bits).slice(0, MOST_WORDS);
  const lines = (rows) => list(rows.map(([name, bits]) => say("{name}: {bits} bits", { name, bits: bits.toFixed(1) })));
  return [
    heading(say("What the words disclosed of each document")),
    lines(documents.map(({ document, bits }) => [document, bits])),
    made("p", { textContent: say("n bits: what the document says made no text more than 2ⁿ times likelier (docs/account.md).") }),
    heading(say("The words that disclosed the most")),
    lines(most.map(({ word, bits }) => [word.trim(), bits])),
  ];
}

function meaningOf(kind, words) {
  const meaning = made("p", { textContent: `${say(MEANINGS[kind] ?? "see docs/privacy.md")}.` });
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

// Rows with a bar each, from one time, or number, to another.
export function timeLine(spans, end) {
  const list = made("ol", { className: "timeline", ariaLabel: say("Time line") });
  list.append(...spans.map((span) => rowOf(span, end)));
  return list;
}

function rowOf({ name, from, to, value, more = [] }, end) {
  const bar = made("span", { className: "bar", ariaHidden: "true" });
  const part = (time) => `${end ? Math.min(100, (100 * time) / end) : 0}%`;
  bar.style.marginLeft = `min(${part(from)}, 100% - 2px)`;
  bar.style.width = part(to - from);
  const shown = value ?? seconds(to - from);
  return made("li", {}, made("span", { className: "name", textContent: say(name) }), made("span", { className: "track" }, bar), made("span", { className: "value", textContent: shown }), ...more);
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
