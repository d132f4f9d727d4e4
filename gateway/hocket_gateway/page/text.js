// The text of an answer as it is written: a span for each token, in blocks of whole lines, a portion at a time, so that
// a long answer holds up nothing else.

import { PROPOSED, lengthOf, pieces } from "./answers.js";
import { made, percent } from "./dom.js";
import { say } from "./words.js";

const PORTION = 100; // tokens that are laid out at once
const BLOCK = 100; // tokens at least before the end of a line ends a block, which is laid out by itself
const LONGEST = 500; // where no end of a line comes for so long, the end of a word does
const MOST = 3; // sources that a token's title names, with no less than this
const MIN_SHARE = 0.01;

class Text extends HTMLElement {
  show(answer) {
    this.answer = answer;
    this.spans = [];
    this.block = null;
    this.setAttribute("role", "group");
    return this;
  }

  // Tokens that are not shown yet, as many as are laid out at once; whether there are more.
  grow() {
    const { answer, spans } = this;
    for (const [text, source] of answer.tokens.slice(spans.length, spans.length + PORTION)) {
      const span = made("span", { className: source, textContent: text });
      spans.push(span);
      this.place(span, text);
    }
    return spans.length < answer.tokens.length;
  }

  place(span, text) {
    if (!this.block) this.append((this.block = made("div")));
    this.block.append(span);
    const number = this.block.childElementCount;
    if ((number >= BLOCK && text.endsWith("\n")) || (number >= LONGEST && /\s$/.test(text))) this.block = null;
  }

  // What each token is made of, once that is known.
  async finish() {
    while (this.grow()) await turn();
    const { answer, spans } = this;
    for (let from = 0, at = 0; from < spans.length; from += PORTION) {
      if (from) await turn();
      const to = Math.min(from + PORTION, spans.length);
      const byToken = Map.groupBy(pieces(answer, from, to, at), ({ token }) => token);
      for (const [token, parts] of byToken) this.mark(token, parts);
      for (let token = from; token < to; token += 1) at += lengthOf(answer.tokens[token][0]);
    }
  }

  mark(token, parts) {
    this.spans[token].replaceWith(...parts.map((piece) => spanOf(piece, this.answer)));
  }
}

// What else waits comes first.
function turn() {
  return new Promise((resolve) => setTimeout(resolve));
}

function spanOf({ text, source, token, unsupported }, answer) {
  const shares = (answer.shares[token] ?? [])
    .map((share, at) => [share, answer.sources[at]?.name])
    .filter(([share, name]) => share >= MIN_SHARE && name)
    .sort(([one], [other]) => other - one)
    .slice(0, MOST);
  const from = shares.map(([share, name]) => `${percent(share)} ${name}`);
  const title = [unsupported ? say("in no passage") : "", say(PROPOSED[source] ?? ""), ...from].filter(Boolean).join("\n");
  return made("span", { className: unsupported ? `${source} unsupported` : source, title, textContent: text });
}

customElements.define("hocket-text", Text);
