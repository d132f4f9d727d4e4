// The turns of a conversation, laid out a frame at a time. Whoever reads at the end stays there while it grows.

import { made } from "./dom.js";
import "./turn.js";
import "./welcome.js";

const NEAR_PX = 80;
const NARROW = matchMedia("(max-width: 52rem)"); // as in style.css

class Log extends HTMLElement {
  connectedCallback() {
    this.welcome = made("hocket-welcome");
  }

  // The turns of a conversation in the place of those before; what was looked at last is in sight.
  async show(turns) {
    const shown = turns.map((turn) => made("hocket-turn").show(turn));
    this.replaceChildren(...(shown.length ? shown : [this.welcome]));
    this.toEnd();
    for (const turn of shown) await turn.end();
    this.toEnd();
  }

  add(turn) {
    const shown = made("hocket-turn").show(turn);
    this.welcome.remove();
    this.append(shown);
    this.toEnd();
    return shown;
  }

  removeLast() {
    this.lastElementChild.remove();
  }

  // What there is to do, where nothing was asked yet.
  greet(state, number, more) {
    this.welcome.show(state, number, more);
  }

  // Once a frame, however many tokens come in one.
  grow(shown) {
    if (shown.isGrowing) return;
    shown.isGrowing = true;
    requestAnimationFrame(() => {
      shown.isGrowing = false;
      const isThere = this.isAtEnd;
      if (shown.update()) this.grow(shown);
      if (isThere) this.toEnd();
    });
  }

  // Where sources stand below the answer, they do not push it away.
  async end(shown) {
    const isThere = this.isAtEnd && !NARROW.matches;
    await shown.end();
    if (isThere) this.toEnd();
  }

  get isAtEnd() {
    return this.scrollHeight - this.scrollTop - this.clientHeight < NEAR_PX;
  }

  toEnd() {
    this.scrollTop = this.scrollHeight;
  }
}

customElements.define("hocket-log", Log);
