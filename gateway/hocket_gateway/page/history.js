// The conversations of this browser. Tells `resume` with one, and `forget` with the id of one.

import { titleOf } from "./conversations.js";
import { made, tell } from "./dom.js";

class History extends HTMLElement {
  show(conversations, current) {
    const list = made("ul", { ariaLabel: "Conversations" });
    list.append(...conversations.map((each) => this.entry(each, each.id === current)));
    const empty = made("p", { textContent: "No conversations yet. They stay in this browser." });
    this.replaceChildren(conversations.length ? list : empty);
  }

  entry(conversation, isCurrent) {
    const title = titleOf(conversation);
    const when = new Date(conversation.at).toLocaleString();
    const open = made("button", { type: "button", title: when, textContent: title, onclick: () => tell(this, "resume", conversation) });
    if (isCurrent) open.ariaCurrent = "true";
    const remove = made("button", { type: "button", className: "remove", title: "Delete", textContent: "×" });
    remove.ariaLabel = `Delete ${title}`;
    remove.addEventListener("click", () => tell(this, "forget", conversation.id));
    return made("li", {}, open, remove);
  }
}

customElements.define("hocket-history", History);
