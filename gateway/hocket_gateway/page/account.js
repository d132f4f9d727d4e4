// What all answers disclosed of this device's documents, as elements: each with its bits, and with its removal beside it.

import { account, removeDocument } from "./api.js";
import { made, sure } from "./dom.js";
import { timeLine } from "./explanation.js";
import { language, say } from "./words.js";

const MIN_BITS = 0.1;

// Nothing where nothing was counted yet.
export async function disclosures() {
  const { counted, documents, days, bits_a_document: bound } = await account();
  const told = documents.filter(({ total }) => total >= MIN_BITS);
  if (!told.length) return [];
  const earlier = say("Bits are not counted any more: these are of earlier answers.");
  return [
    made("h3", { textContent: say("What all answers disclosed of each document") }),
    ...(counted ? [] : [made("p", { textContent: earlier })]),
    made("ul", { className: "folders" }, ...told.map((each) => entry(each, bound))),
    made("h3", { textContent: say("The same by day") }),
    byDay(Object.entries(days)),
  ];
}

// The longest bar is that of the day on which most left.
function byDay(days) {
  const rows = days.map(([day, bits]) => ({ name: day, from: 0, to: bits, value: say("{bits} bits", { bits: bits.toFixed(1) }) }));
  return timeLine(rows, Math.max(...days.map(([, bits]) => bits)));
}

function entry({ document: name, today, total, peers, last }, bound) {
  const bits = { total: total.toFixed(1), today: today.toFixed(1), bound };
  const amount = bound ? say("{total} of at most {bound} bits, {today} of them today", bits) : say("{total} bits, {today} of them today", bits);
  const to = new Intl.ListFormat(language).format(Object.keys(peers).map((peer) => say(peer)));
  const words = made("small", { textContent: `${amount}; ${say("to {peers}, last on {day}", { peers: to, day: last })}` });
  const title = name.slice(name.lastIndexOf("/") + 1);
  const remove = made("button", { type: "button", className: "remove", textContent: say("Remove"), ariaLabel: say("Remove {title}", { title }) });
  sure(remove, say("Really?"), async () => {
    try {
      await removeDocument(name);
      words.textContent = say("removed; its file stays, and is skipped when its folder is read");
      remove.remove();
    } catch (error) {
      words.textContent = error.message;
    }
  });
  return made("li", { title: name }, made("span", {}, title, words), remove);
}
