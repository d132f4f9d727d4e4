// The passages behind an answer, each with its share as a bar. Tells `open` with the source that is chosen.

import { made, percent, tell } from "./dom.js";
import { say } from "./words.js";

class Sources extends HTMLElement {
  show(sources) {
    this.hidden = sources.length === 0;
    const key = JSON.stringify(sources.map(({ title, text }) => [title, text]));
    if (key === this.key) sources.forEach((source, at) => this.grow(this.bars[at], source));
    else this.build(sources);
    this.key = key;
  }

  build(sources) {
    this.bars = [];
    const list = made("ol", { ariaLabel: say("Sources") });
    list.append(...sources.map((source) => made("li", {}, this.entry(source))));
    this.replaceChildren(list);
  }

  entry(source) {
    const bar = made("span", { className: `bar ${source.side}`, ariaHidden: "true" });
    const share = made("span", { className: "share" });
    this.bars.push({ bar, share });
    this.grow({ bar, share }, source);
    const parts = [
      made("span", { className: "name", title: source.title, textContent: source.name }),
      made("span", { className: `badge ${source.side}`, textContent: source.device || say(source.side) }),
      made("span", { className: "track" }, bar),
      share,
    ];
    if (!source.document) return made("div", { className: "source" }, ...parts);
    return made("button", { type: "button", className: "source", onclick: () => tell(this, "open", source) }, ...parts);
  }

  grow({ bar, share }, source) {
    bar.style.width = percent(Math.min(1, source.share)).replace(" ", "");
    share.textContent = percent(source.share);
  }
}

customElements.define("hocket-sources", Sources);
