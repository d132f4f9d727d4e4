// The conversations of this browser, of which those that have the words of a search are shown. Tells `resume` with one,
// `amend` with one and what of it is another, and `forget` with the id of one.

import { FORMATS, matches, titleOf } from "./conversations.js";
import { made, sure, tell } from "./dom.js";
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
    const found = this.conversations.filter((each) => matches(each, this.words.value.trim()));
    const list = made("ul", { ariaLabel: say("Conversations") });
    list.append(...found.map((each) => this.entry(each, each.id === this.current)));
    const hadFocus = this.found.contains(document.activeElement);
    const nothing = say(this.conversations.length ? "No conversation has these words." : "No conversations yet. They stay in this browser.");
    this.found.replaceChildren(found.length ? list : made("p", { textContent: nothing }));
    if (hadFocus) this.words.focus();
  }

  entry(conversation, isCurrent) {
    const title = titleOf(conversation);
    const when = new Date(conversation.at).toLocaleString(language);
    const open = made("button", { type: "button", title: when, textContent: title, onclick: () => tell(this, "resume", conversation) });
    if (isCurrent) open.ariaCurrent = "true";
    if (conversation.pinned) open.prepend(made("span", { className: "star", title: say("Pinned"), textContent: "★ " }));
    const actions = made("div", { className: "actions", role: "group", ariaLabel: say("Actions for {title}", { title }), hidden: true });
    const more = made("button", { type: "button", className: "more", ariaLabel: say("Actions for {title}", { title }), ariaExpanded: "false", textContent: "⋯" });
    more.addEventListener("click", () => {
      actions.hidden = !actions.hidden;
      more.ariaExpanded = String(!actions.hidden);
    });
    const row = made("li", {}, open, more, actions);
    actions.append(...this.acts(row, conversation));
    return row;
  }

  acts(row, conversation) {
    const act = (name, text, onclick = () => {}) => made("button", { type: "button", className: name, textContent: text, onclick });
    const { id, pinned } = conversation;
    return [
      act("pin", pinned ? say("Unpin") : say("Pin"), () => tell(this, "amend", { conversation, changes: { pinned: !pinned } })),
      act("rename", say("Rename"), () => this.rename(row, conversation)),
      ...Object.keys(FORMATS).map((kind) => act(kind, say("Save as {name}", { name: FORMATS[kind].name }), () => download(conversation, kind))),
      sure(act("remove", say("Delete")), say("Really?"), () => tell(this, "forget", id)),
    ];
  }

  // A field in the place of the title; Enter takes it, Esc or leaving it does not.
  rename(row, conversation) {
    const field = made("input", { value: titleOf(conversation) });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") tell(this, "amend", { conversation, changes: { title: field.value.trim() } });
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
function download(conversation, kind) {
  const { type, write } = FORMATS[kind];
  const url = URL.createObjectURL(new Blob([write(conversation)], { type }));
  const name = titleOf(conversation).slice(0, NAME_CHARS).replace(/[^\p{L}\p{N} _-]/gu, "").trim();
  made("a", { href: url, download: `${name || "conversation"}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}

customElements.define("hocket-history", History);
