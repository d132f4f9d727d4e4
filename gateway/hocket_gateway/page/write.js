// A text that is written with suggestions: what may follow the cursor stands in grey; Tab takes it, Esc refuses it.

import { suggestions } from "./api.js";
import { made } from "./dom.js";
import { say } from "./words.js";

const PAUSE_MS = 30; // behind the last key, so that a fast typist asks once
const PLACE = "hocket-writing";

class Write extends HTMLElement {
  connectedCallback() {
    this.writing = crypto.getRandomValues(new Uint32Array(2)).join("-");
    this.offered = "";
    this.field = made("textarea", { id: "writing", spellcheck: false, value: localStorage.getItem(PLACE) ?? "" });
    this.ghost = made("div", { className: "ghost", ariaHidden: "true" });
    this.line = made("p", { className: "offer", role: "status" });
    this.alone = made("input", { type: "checkbox", id: "write-alone", onchange: () => this.changed() });
    const close = made("button", { type: "button", textContent: say("Close"), onclick: () => this.dialog.close() });
    const head = made("div", { className: "head" }, made("h2", { id: "write-heading", textContent: say("Write") }), close);
    const label = made("label", { htmlFor: "writing", textContent: say("Text: Tab accepts the grey suggestion, Esc rejects it") });
    const alone = made("label", { htmlFor: "write-alone", textContent: say("Without the cloud") });
    const page = made("div", { className: "page" }, this.ghost, this.field);
    this.dialog = made("dialog", { className: "write", "aria-labelledby": "write-heading" }, head, label, page, this.line, made("div", { className: "choice" }, this.alone, alone));
    this.append(this.dialog);
    this.listen();
  }

  listen() {
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("scroll", () => this.follow());
    this.dialog.addEventListener("close", () => this.asking?.abort());
    document.addEventListener("selectionchange", () => this.moved());
  }

  open() {
    this.dialog.showModal();
    this.field.focus();
    this.changed();
  }

  onKey(event) {
    if (!this.offered || event.isComposing || !["Tab", "Escape"].includes(event.key) || event.shiftKey) return;
    event.preventDefault(); // without a suggestion Tab goes on to the next control, and Esc closes
    if (event.key === "Tab") this.field.setRangeText(this.offered, this.at, this.at, "end");
    this.offer("", []);
    if (event.key === "Tab") this.changed();
    else this.refused = true; // until the text is another one
  }

  moved() {
    if (this.dialog.open && document.activeElement === this.field && this.at !== this.field.selectionStart) this.changed();
  }

  changed() {
    localStorage.setItem(PLACE, this.field.value);
    this.offer("", []);
    this.at = this.field.selectionStart;
    this.refused = false;
    this.asking?.abort();
    clearTimeout(this.timer);
    if (this.field.value.trim() && this.at === this.field.selectionEnd) this.timer = setTimeout(() => this.ask(), PAUSE_MS);
  }

  async ask() {
    const asking = (this.asking = new AbortController());
    const text = this.field.value;
    const cursor = [...text.slice(0, this.at)].length; // in code points, as the gateway counts
    try {
      const wanted = { id: this.writing, text, cursor, alone: this.alone.checked };
      for await (const { text, sources } of suggestions(wanted, asking.signal)) {
        if (this.asking === asking && !this.refused) this.offer(text, sources);
      }
    } catch (error) {
      if (error.name !== "AbortError" && this.asking === asking) this.line.textContent = error.message;
    }
  }

  // In grey behind the cursor where nothing stands there, and in words below.
  offer(text, sources) {
    this.offered = text;
    const isAtEnd = this.at === this.field.value.length;
    this.ghost.replaceChildren(...(text && isAtEnd ? [made("span", { textContent: this.field.value }), made("em", { textContent: text })] : []));
    const from = [...new Set(sources.map(({ document }) => document))].join(", ");
    this.line.textContent = text ? `Tab: ${text.trim()}${from && ` ${say("(from {documents})", { documents: from })}`}` : "";
    this.follow();
  }

  follow() {
    this.ghost.scrollTop = this.field.scrollTop;
  }
}

customElements.define("hocket-write", Write);
