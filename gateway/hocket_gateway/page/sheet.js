// A sheet beside the conversation: a document, opened at a passage, the list of this device's documents, or the settings.

import { disclosures } from "./account.js";
import { documentText, explanation } from "./api.js";
import { made } from "./dom.js";
import { left, why } from "./explanation.js";
import { around } from "./passage.js";
import "./settings.js";
import "./shelf.js";
import { say } from "./words.js";

class Sheet extends HTMLElement {
  connectedCallback() {
    this.heading = made("h2", { id: "sheet-heading" });
    this.content = made("div", { className: "content", tabIndex: 0 });
    const close = made("button", { type: "button", textContent: say("Close"), onclick: () => this.dialog.close() });
    const head = made("div", { className: "head" }, this.heading, close);
    this.dialog = made("dialog", { "aria-labelledby": "sheet-heading" }, head, this.content);
    this.append(this.dialog);
    this.addEventListener("show", ({ detail }) => this.openDocument(detail.name));
  }

  // A source of an answer. The text is there where it is this device's.
  async openSource(source) {
    this.begin(source.title);
    const badge = made("span", { className: `badge ${source.side}`, textContent: source.device || source.side });
    this.content.append(made("p", {}, badge));
    if (source.side !== "device" || source.device) {
      this.content.append(made("p", { textContent: say("This document is on another machine; its text is not sent.") }));
      return;
    }
    await this.showText(source.document, source.text);
  }

  openWhy(turn) {
    return this.openRecord(say("Why this answer"), turn, why);
  }

  async openLeft(turn) {
    await this.openRecord(say("What the cloud saw"), turn, left);
    await this.orSayWhy(async () => this.content.append(...(await disclosures())));
  }

  async openRecord(title, turn, parts) {
    this.begin(title);
    try {
      this.content.append(...parts(turn, await explanation(turn.answer.id)));
    } catch (error) {
      this.content.append(...parts(turn, null), made("p", { className: "error", textContent: error.message }));
    }
  }

  async openDocument(name) {
    this.begin(name);
    await this.showText(name, "");
  }

  async openList() {
    this.begin(say("Documents"));
    this.shelf = made("hocket-shelf");
    this.content.append(this.shelf);
    await this.orSayWhy(() => this.shelf.fill());
  }

  openSettings(leaves) {
    this.begin(say("Settings"));
    this.content.append(made("hocket-settings"));
    this.content.lastChild.show(leaves);
  }

  // Files that were dropped somewhere on the page.
  async add(files) {
    if (!this.shelf?.isConnected || !this.dialog.open) await this.openList();
    await this.shelf.add(files);
  }

  async showText(name, passage) {
    const shown = made("pre", { textContent: passage });
    this.content.append(shown);
    await this.orSayWhy(async () => {
      const [before, found, after] = around(await documentText(name), passage);
      if (passage && !found) shown.before(made("p", { textContent: say("The document has changed. The passage was:") }));
      const mark = made("mark", { textContent: found || passage });
      shown.replaceChildren(...(found ? [before, mark, after] : [mark, passage && "\n\n", before]));
      mark.scrollIntoView({ block: "center" });
    });
  }

  async orSayWhy(act) {
    try {
      await act();
    } catch (error) {
      this.content.append(made("p", { className: "error", textContent: error.message }));
    }
  }

  begin(title) {
    this.heading.textContent = title;
    this.content.replaceChildren();
    if (!this.dialog.open) this.dialog.showModal();
  }
}

customElements.define("hocket-sheet", Sheet);
