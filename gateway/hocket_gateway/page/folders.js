// The folders of this device that are read again at every change: added by their whole path, and let go of. While one is
// being read, they are looked at again. Tells `changed` when one was added, or was read.

import { unwatchFolder, watchFolder, watchedFolders } from "./api.js";
import { made, tell } from "./dom.js";
import { count, say } from "./words.js";

const AGAIN_MS = 1_500;
const STATES = { waiting: "waiting", reading: "being read", read: "read" };

class Folders extends HTMLElement {
  connectedCallback() {
    this.hidden = true;
    this.paths = [];
    this.list = made("ul", { className: "folders" });
    this.field = made("input", { id: "folder", placeholder: "/home/anna/notes", autocomplete: "off", spellcheck: false });
    this.why = made("p", { className: "error", role: "alert" });
    const label = made("label", { htmlFor: "folder", textContent: say("Watch a folder of this device") });
    const form = made("form", { onsubmit: (event) => this.onSubmit(event) }, label, this.field, made("button", { type: "submit", textContent: say("Watch") }));
    this.append(made("h3", { textContent: say("Watched folders") }), this.list, form, this.why);
  }

  async fill() {
    await this.shown(watchedFolders);
  }

  onSubmit(event) {
    event.preventDefault();
    const path = this.field.value.trim();
    if (path.startsWith("/")) this.watch(path);
    else this.why.textContent = say("Write the whole path of the folder, from / on.");
  }

  async watch(path) {
    await this.shown(() => watchFolder(path));
    this.field.focus();
    if (this.why.textContent) return;
    this.field.value = "";
    tell(this, "changed");
  }

  async unwatch(folder) {
    await this.shown(() => unwatchFolder(folder));
    this.field.focus();
  }

  // Whether a document lies in one of them, which is read again.
  has(document) {
    return this.paths.some((folder) => document.startsWith(`${folder}/`));
  }

  // The folders as a request gives them, or why it gives none.
  async shown(request) {
    try {
      const folders = await request();
      this.follow(folders.some(({ state }) => state !== "read"));
      this.paths = folders.map(({ folder }) => folder);
      this.list.replaceChildren(...folders.map((each) => this.entry(each)));
      this.why.textContent = "";
    } catch (error) {
      this.why.textContent = error.message;
    }
  }

  // Looks again as long as one is not read and somebody sees it.
  follow(isReading) {
    clearTimeout(this.next);
    const isRead = this.isReading && !isReading;
    this.isReading = isReading;
    if (isRead) tell(this, "changed");
    if (isReading) this.next = setTimeout(() => this.checkVisibility() && this.fill(), AGAIN_MS);
  }

  entry({ folder, state, progress, failures, problem }) {
    const parts = [say(STATES[state])];
    if (state === "reading" && progress.of) parts.push(say("{done} of {all} passages", { done: progress.passages, all: progress.of }));
    if (failures.length) parts.push(count(failures.length, "1 file could not be read", "{number} files could not be read"));
    if (problem) parts.push(problem);
    const stop = made("button", { type: "button", textContent: say("Stop watching"), ariaLabel: say("Stop watching {name}", { name: folder }), onclick: () => this.unwatch(folder) });
    const about = made("span", {}, folder, made("small", { textContent: parts.join("; "), title: failures.join("\n") }));
    return made("li", {}, about, stop);
  }
}

customElements.define("hocket-folders", Folders);
