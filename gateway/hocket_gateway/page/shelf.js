// The documents of this device by folder: searched by name, opened, sent by a button or by dropping them, and removed; and
// the files that were passed over. Tells `show` with the name of one, and `changed` when there are others than before.

import { documents, removeDocument, skippedFiles } from "./api.js";
import { made, sure, tell } from "./dom.js";
import "./folders.js";
import { upload } from "./upload.js";
import { count, say } from "./words.js";

const FEW = 100; // so many are seen without opening their folder
const PASSAGES = ["1 passage", "{number} passages"];

class Shelf extends HTMLElement {
  connectedCallback() {
    this.field = made("input", { type: "file", id: "files", multiple: true, onchange: () => this.add([...this.field.files]) });
    const label = made("label", { htmlFor: "files", textContent: say("Add files, or drop them here") });
    this.adding = made("div", { className: "adding", hidden: true }, label, this.field);
    this.sent = made("ul", { className: "sent" });
    this.words = made("input", { type: "search", id: "named", placeholder: say("Search by name"), oninput: () => this.list() });
    this.kind = made("select", { id: "kind", onchange: () => this.list() });
    const labels = [["named", "Search by name"], ["kind", "Kind of file"]].map(([htmlFor, text]) => made("label", { htmlFor, className: "unseen", textContent: say(text) }));
    this.filters = made("div", { className: "filters" }, labels[0], this.words, labels[1], this.kind);
    this.found = made("div", { className: "documents" });
    this.passed = made("details", { className: "passed", hidden: true });
    this.folders = made("hocket-folders");
    this.folders.addEventListener("changed", () => this.fill().catch(() => {})); // the next opening says why
    this.append(this.adding, made("div", { role: "status" }, this.sent), this.filters, this.found, this.passed, this.folders);
  }

  // Raises Refused.
  async fill() {
    this.documents = [];
    for await (const page of pages(documents)) {
      this.documents.push(...page.documents);
      this.adding.hidden = !page.uploads;
      this.folders.hidden = !page.watching;
    }
    this.offerKinds();
    this.list();
    await Promise.all([this.showPassed(), this.folders.hidden || this.folders.fill()]);
  }

  offerKinds() {
    const { value } = this.kind;
    const kinds = [...new Set(this.documents.map(({ name }) => kindOf(name)))].sort();
    const options = kinds.map((kind) => made("option", { value: kind, textContent: kind || say("without a suffix") }));
    this.kind.replaceChildren(made("option", { value: "*", textContent: say("All kinds") }), ...options);
    this.kind.value = kinds.includes(value) ? value : "*";
    this.filters.hidden = !this.documents.length;
  }

  list() {
    const words = this.words.value.toLowerCase().split(/\s+/);
    const kind = this.kind.value;
    const found = this.documents.filter(({ name, title }) => {
      const text = `${name} ${title}`.toLowerCase();
      return (kind === "*" || kindOf(name) === kind) && words.every((word) => text.includes(word));
    });
    const folders = Map.groupBy(found, ({ name }) => partsOf(name)[0]);
    const isOpen = found.length <= FEW;
    const nothing = this.documents.length ? say("No document has these words.") : say("No documents yet: hocket ingest --side device FOLDER");
    this.found.replaceChildren(...[...folders].map(([folder, within]) => this.folder(folder, within, isOpen)));
    if (!found.length) this.found.append(made("p", { textContent: nothing }));
  }

  // Its documents are laid out once it is opened: there may be thousands.
  folder(name, within, isOpen) {
    const list = made("ul", {});
    const summary = made("summary", { textContent: name }, made("span", { textContent: count(within.length, "1 document", "{number} documents") }));
    const details = made("details", { open: isOpen }, summary, list);
    const fill = () => details.open && !list.hasChildNodes() && list.append(...within.map((each) => this.entry(each)));
    details.addEventListener("toggle", fill);
    fill();
    return details;
  }

  entry({ name, title, passages, removable }) {
    const [, file] = partsOf(name);
    const open = made("button", { type: "button", title: name, textContent: title || file, onclick: () => tell(this, "show", { name }) });
    if (title && title !== file) open.append(made("small", { textContent: file }));
    const number = made("span", { textContent: count(passages, ...PASSAGES) });
    return made("li", {}, open, number, ...(removable ? [this.remover(name, title || file)] : []));
  }

  // Asks once more before it removes: that cannot be taken back.
  remover(name, title) {
    const button = made("button", { type: "button", className: "remove", textContent: say("Remove"), ariaLabel: say("Remove {title}", { title }) });
    return sure(button, say("Really?"), () => this.forget(name, title));
  }

  async showPassed() {
    const files = [];
    for await (const page of pages(skippedFiles)) files.push(...page.skipped);
    const entries = files.map(({ name, why }) => made("li", { title: name }, partsOf(name)[1], made("small", { textContent: why })));
    this.passed.hidden = !files.length;
    this.passed.replaceChildren(made("summary", { textContent: count(files.length, "1 file was not read", "{number} files were not read") }), made("ul", {}, ...entries));
  }

  async forget(name, title) {
    await this.acted(title, async () => {
      await removeDocument(name);
      this.words.focus();
      return say(this.folders.has(name) ? "removed; its file stays, and is skipped when its folder is read" : "removed");
    });
  }

  // One behind the other, since each is read as soon as it is there.
  async add(files) {
    for (const file of files) {
      await this.acted(file.name, async (told) => {
        const { outcome, passages, notices } = await upload(file, told);
        return [`${say(outcome)}, ${count(passages, ...PASSAGES)}`, ...notices].join("; ");
      });
    }
    this.field.value = "";
  }

  // A line that says how far it is, and what became of it.
  async acted(name, act) {
    const bar = made("progress", { max: 1, value: 0, ariaLabel: name });
    const words = made("span", {});
    const line = made("li", {}, made("strong", { textContent: name }), " ", words, bar);
    this.sent.prepend(line);
    try {
      words.textContent = await act((part, text) => {
        bar.value = part;
        words.textContent = text;
      });
      await this.fill();
      tell(this, "changed");
    } catch (error) {
      line.classList.add("error");
      words.textContent = error.message;
    }
    bar.remove();
  }
}

// Each page of a list, from the first on.
async function* pages(listed) {
  for (let offset = 0; offset !== null; ) {
    const page = await listed(offset);
    yield page;
    offset = page.next;
  }
}

// A document's folder, and its name there.
function partsOf(name) {
  const [, folder = "", file] = /^(.*\/)?(.*)$/s.exec(name);
  return [folder, file];
}

function kindOf(name) {
  return /[^.]\.(\w{1,8})$/.exec(partsOf(name)[1])?.[1].toLowerCase() ?? "";
}

customElements.define("hocket-shelf", Shelf);
