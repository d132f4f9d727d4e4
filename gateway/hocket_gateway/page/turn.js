// A question and its answer: tokens coloured by who proposed them, the notices, the finish, and what left.

import { PROPOSED, finishOf, leftLine, pieces, shown } from "./answers.js";
import { made, percent } from "./dom.js";
import "./sources.js";

const MOST = 3; // sources that a token's title names, with no less than this
const MIN_SHARE = 0.01;

export class Turn extends HTMLElement {
  // Shows a turn of a conversation; `update` follows as its answer grows.
  show(turn) {
    this.turn = turn;
    this.number = 0; // of tokens that are shown
    this.text = made("p", { className: "text" });
    this.notices = made("ul", { className: "notices" });
    this.facts = made("div", { className: "facts" });
    this.sources = made("hocket-sources");
    const answer = made("div", { className: "answer" }, this.text, this.notices, this.facts);
    this.append(made("h2", { className: "question", textContent: turn.question }), answer, this.sources);
    this.update();
    return this;
  }

  update() {
    const { answer } = this.turn;
    const tokens = answer.tokens.slice(this.number);
    this.text.append(...tokens.map(([text, source]) => made("span", { className: source, textContent: text })));
    this.number = answer.tokens.length;
    this.notices.replaceChildren(...answer.notices.map((notice) => made("li", { textContent: notice })));
    this.text.ariaBusy = String(!answer.over);
    if (answer.over) this.end(answer);
  }

  end(answer) {
    this.text.replaceChildren(...pieces(answer).map((piece) => spanOf(piece, answer)));
    this.sources.show(shown(answer));
    const { routing, id } = answer;
    const finish = finishOf(answer);
    const lines = [
      finish && made("p", { className: answer.error ? "finish error" : "finish", textContent: finish }),
      answer.tokens.length && legend(answer),
      routing && made("p", { className: "way", textContent: `Way: ${routing.way}; ${routing.why}.` }),
      made("p", { className: "left", textContent: leftLine(this.turn.model, answer) }),
      id && made("p", {}, `${this.turn.model} · `, made("code", { textContent: `hocket explain ${id}` })),
    ];
    this.facts.replaceChildren(...lines.filter(Boolean));
  }
}

function spanOf({ text, source, token, unsupported }, answer) {
  const shares = (answer.shares[token] ?? [])
    .map((share, at) => [share, answer.sources[at]?.name])
    .filter(([share, name]) => share >= MIN_SHARE && name)
    .sort(([one], [other]) => other - one)
    .slice(0, MOST);
  const from = shares.map(([share, name]) => `${percent(share)} ${name}`);
  const title = [unsupported ? "in no passage" : "", PROPOSED[source], ...from].filter(Boolean).join("\n");
  return made("span", { className: unsupported ? `${source} unsupported` : source, title, textContent: text });
}

function legend(answer) {
  const list = made("ul", { className: "legend", ariaLabel: "Tokens by who proposed them" });
  for (const [source, meaning] of Object.entries(PROPOSED)) {
    const number = answer.tokens.filter(([, each]) => each === source).length;
    if (number) list.append(made("li", { title: meaning }, made("span", { className: source, textContent: source }), ` ${number}`));
  }
  if (answer.unsupported.length) {
    const mark = made("span", { className: "unsupported", textContent: "in no passage" });
    list.append(made("li", {}, mark, ` ${answer.unsupported.length}`));
  }
  return list;
}

customElements.define("hocket-turn", Turn);
