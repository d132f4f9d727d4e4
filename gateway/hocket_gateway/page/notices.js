// The daemons' lines about an answer, as the page says them: without commands for a terminal, in the reader's language.

import { say } from "./words.js";

const OWN = "The model's own answer, which may be invented: it has read no documents.";

// A line of a daemon, and the page's with its values. The first that fits counts.
const LINES = [
  [/^(?<why>.+); to get an answer anyway, ask with unknown = answer .+$/, "{why}"],
  [/^(?<why>.+), so the answer may be invented$/, "{why} The answer may be invented."],
  [/^probably not in your documents: the best passage answers with a probability of (?<best>\S+), less than (?<bound>\S+)$/, "Probably not in your documents: the best passage answers with a probability of {best}, and {bound} is needed."],
  [/^probably not in your documents: no passage that was read mentions (?<detail>.+)$/, "Probably not in your documents: no passage that was read mentions {detail}."],
  [/^nothing is found in (?<folders>.+?)(?:: name another folder, .+)?$/, "Nothing is found in {folders}."],
  [/^most of its words are in no passage, so it may be invented$/, "Most of its words are in no passage, so it may be invented."],
  [/^the question asks who, and the answer names nobody: .+$/, "The question asks who, and the answer names nobody: it may be in no document."],
  [/^the question asks where, and the answer names no place: .+$/, "The question asks where, and the answer names no place: it may be in no document."],
  [/^the question asks a colour, and the answer has none: .+$/, "The question asks a colour, and the answer has none: it may be in no document."],
  [/^the question asks how much or how many, and the answer has no number: .+$/, "The question asks how much or how many, and the answer has no number: it may be in no document."],
  [/^the question asks when, and the answer has no time: .+$/, "The question asks when, and the answer has no time: it may be in no document."],
  [/^the model's own answer, which may be invented: no documents are ingested .+$/, OWN],
  [/^the model's own answer, which may be invented: the side that starts it has read no document$/, OWN],
  [/^the model's own answer, which may be invented: (?<why>.+)$/, "The model's own answer, which may be invented. {why}"],
  [/^no documents are ingested .+: only the cloud's are used, if any$/, "This device has no documents: only the cloud's are used, if any."],
  [/^(?<why>.+): only the cloud's are used, if any$/, "{why} Only the cloud's documents are used, if any."],
  [/^counted on this side alone; the cloud lists its own: .+$/, "Counted on this device alone, without the cloud's documents."],
  [/^(?<name>.+) has an older entry of (?<time>.+); that of (?<newer>.+) is used$/, "{name} has an older entry of {time}; that of {newer} is used."],
  [/^(?<name>.+) of (?<time>.+) is older and may differ; (?<newer>.+) of (?<day>.+) is used$/, "{name} of {time} is older and may differ; {newer} of {day} is used."],
  [/^the (?<side>\w+) uses the small bundled model, as none was chosen: there, run (?<command>.+), or keep it .+$/, "A small model answers on this side: {side}. A better one is got there by: {command}"],
  [/^nothing was found about this part: (?<part>.+)$/, "Nothing was found about this part: {part}"],
  [/^no room was left for this part: (?<part>.+) Allow more tokens, or ask it alone\.$/, "No room was left for this part: {part} Ask it alone."],
  [/^no document that was found has enough bits left(?:: .+)?$/, "No document that was found has enough bits left."],
  [/^(?<name>.+) has too few bits left, so it is left out: .+$/, "{name} has too few bits left, so it is left out."],
  [/^(?<name>.+) has disclosed its last bits: what follows may be invented$/, "{name} has disclosed its last bits: what follows may be invented."],
  [/^no cloud is configured through which to reach other devices: answering alone$/, "No cloud is set through which other devices are reached: this device answers alone."],
  [/^the cloud is not connected: .+; answering alone$/, "The cloud is not connected: this device answers alone."],
  [/^the cloud is late; answering alone$/, "The cloud is late: this device answers alone."],
  [/^the cloud is still reading after (?<seconds>\S+) s \((?<part>.+)\); answering alone$/, "The cloud is still reading after {seconds} s ({part}): this device answers alone."],
  [/^the cloud has no documents; answering alone$/, "The cloud has no documents: this device answers alone."],
  [/^the cloud is back: answering together again$/, "The cloud is back: both sides answer together again."],
  [/^the cloud may be steering this answer to extract your private text: .+$/, "The cloud may be steering this answer to extract your private text: it gets nothing more of it."],
  [/^the cloud may be steering this answer towards your private text, .+$/, "The cloud may be steering this answer towards your private text, though most likely by chance."],
  [/^the (?<late>\w+) is late; the (?<side>\w+) continues$/, "One side is late ({late}), and the other one continues: {side}."],
  [/^(?<name>\S+) has not answered within (?<seconds>\S+) s$/, "{name} has not answered within {seconds} s."],
  [/^(?<name>\S+) disconnected while it was asked$/, "{name} disconnected while it was asked."],
  [/^(?<name>\S+), whose summaries match, is not connected$/, "{name}, whose summaries match, is not connected."],
  [/^(?<name>\S+), whose summaries match, has not answered lately$/, "{name}, whose summaries match, has not answered lately."],
];

// A line that is not known is shown as it is. A value that is a line itself is told likewise.
export function noticeText(line) {
  for (const [pattern, shown] of LINES) {
    const found = pattern.exec(line);
    if (found) return say(shown, values(found.groups));
  }
  return line;
}

function values(groups = {}) {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, name === "why" ? sentence(noticeText(value)) : say(value)]));
}

function sentence(text) {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
