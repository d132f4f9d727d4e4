// The conversations of this browser, of which those that have the words of a search are shown. Tells `resume` with one,
// `rename` with one and its title, and `forget` with the id of one.

import { textOf } from "./answers.js";
import { exported, matches, titleOf } from "./conversations.js";
import { made, tell } from "./dom.js";
import { language, say } from "./words.js";

const NAME_CHARS = 60; // of an exported file

class History extends HTMLElement {
  connectedCallback() {
    this.words = made("input", { type: "search", placeholder: say("Search conversations"), oninput: () => this.list() });
    this.search = named(say("Search conversations"), this.words);
    this.found = made("div");
    this.append(this.search, this.found);
  }

  show(conversations, current) {
    Object.assign(this, { conversations, current });
    this.search.hidden = !conversations.length;
    this.list();
  }

  list() {
    const found = this.conversations.filter((each) => matches(each, this.words.value.trim(), textOf));
    const list = made("ul", { ariaLabel: say("Conversations") });
    list.append(...found.map((each) => this.entry(each, each.id === this.current)));
    const nothing = say(this.conversations.length ? "No conversation has these words." : "No conversations yet. They stay in this browser.");
    this.found.replaceChildren(found.length ? list : made("p", { textContent: nothing }));
  }

  entry(conversation, isCurrent) {
    const title = titleOf(conversation);
    const when = new Date(conversation.at).toLocaleString(language);
    const open = made("button", { type: "button", title: when, textContent: title, onclick: () => tell(this, "resume", conversation) });
    if (isCurrent) open.ariaCurrent = "true";
    const act = (name, text, what, onclick) => made("button", { type: "button", className: name, title: say(what), ariaLabel: `${say(what)} ${title}`, textContent: text, onclick });
    const row = made("li", {}, open);
    row.append(
      act("rename", "✎", "Rename", () => this.rename(row, conversation)),
      act("export", "⤓", "Export", () => download(conversation)),
      act("remove", "×", "Delete", () => tell(this, "forget", conversation.id)),
    );
    return row;
  }

  // A field in the place of the title; Enter takes it, Esc or leaving it does not.
  rename(row, conversation) {
    const field = made("input", { value: titleOf(conversation) });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") tell(this, "rename", { conversation, title: field.value.trim() });
      else if (event.key === "Escape") this.list();
    });
    field.addEventListener("blur", () => row.isConnected && this.list());
    row.replaceChildren(named(say("Title"), field));
    field.select();
  }
}

// A field with its name, which is not seen.
function named(name, field) {
  return made("label", {}, made("span", { className: "unseen", textContent: name }), field);
}

// As a file of the browser's downloads.
function download(conversation) {
  const url = URL.createObjectURL(new Blob([exported(conversation, textOf)], { type: "text/markdown" }));
  const name = titleOf(conversation).slice(0, NAME_CHARS).replace(/[^\p{L}\p{N} _-]/gu, "").trim();
  made("a", { href: url, download: `${name || "conversation"}.md` }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}

customElements.define("hocket-history", History);
