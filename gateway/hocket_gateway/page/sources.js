// The passages behind an answer, each with its share as a bar. Tells `open` with the source that is chosen.

import { made, percent, tell } from "./dom.js";

class Sources extends HTMLElement {
  show(sources) {
    this.hidden = sources.length === 0;
    const list = made("ol", { ariaLabel: "Sources" });
    list.append(...sources.map((source) => made("li", {}, this.entry(source))));
    this.replaceChildren(list);
  }

  entry(source) {
    const bar = made("span", { className: `bar ${source.side}`, ariaHidden: "true" });
    bar.style.width = percent(Math.min(1, source.share)).replace(" ", "");
    const parts = [
      made("span", { className: "name", title: source.title, textContent: source.name }),
      made("span", { className: `badge ${source.side}`, textContent: source.device || source.side }),
      made("span", { className: "track" }, bar),
      made("span", { className: "share", textContent: percent(source.share) }),
    ];
    if (!source.document) return made("div", { className: "source" }, ...parts);
    return made("button", { type: "button", className: "source", onclick: () => tell(this, "open", source) }, ...parts);
  }
}

customElements.define("hocket-sources", Sources);
