// The documents of this device: listed, sent by a button or by dropping them, and removed. Tells `show` with the name of
// one, and `changed` when there are others than before.

import { documents, removeDocument } from "./api.js";
import { made, tell } from "./dom.js";
import { upload } from "./upload.js";

class Shelf extends HTMLElement {
  connectedCallback() {
    this.field = made("input", { type: "file", id: "files", multiple: true, onchange: () => this.add([...this.field.files]) });
    const label = made("label", { htmlFor: "files", textContent: "Add files, or drop them here" });
    this.adding = made("div", { className: "adding", hidden: true }, label, this.field);
    this.sent = made("ul", { className: "sent" });
    this.list = made("ul", { className: "documents" });
    this.append(this.adding, made("div", { role: "status" }, this.sent), this.list);
  }

  // Raises Refused.
  async fill() {
    const found = [];
    for (let offset = 0; offset !== null; ) {
      const page = await documents(offset);
      found.push(...page.documents);
      this.adding.hidden = !page.uploads;
      offset = page.next;
    }
    this.list.replaceChildren(...found.map((each) => this.entry(each)));
    if (!found.length) this.list.append(made("li", { textContent: "No documents yet: hocket ingest --side device FOLDER" }));
  }

  entry({ name, title, passages, removable }) {
    const [, folder, file] = /^(.*\/)?(.*)$/s.exec(name);
    const open = made("button", { type: "button", title: name, onclick: () => tell(this, "show", { name }) });
    open.append(title || file, made("small", { textContent: folder ?? "" }));
    const number = made("span", { textContent: passages === 1 ? "1 passage" : `${passages} passages` });
    return made("li", {}, open, number, ...(removable ? [this.remover(name, title || file)] : []));
  }

  // Asks once more before it removes: that cannot be taken back.
  remover(name, title) {
    const button = made("button", { type: "button", className: "remove", textContent: "Remove", ariaLabel: `Remove ${title}` });
    const calm = () => {
      button.classList.remove("sure");
      button.textContent = "Remove";
    };
    button.addEventListener("blur", calm);
    button.addEventListener("click", () => {
      if (button.classList.contains("sure")) this.forget(name, title);
      button.classList.add("sure");
      button.textContent = "Really?";
    });
    return button;
  }

  async forget(name, title) {
    await this.acted(title, async () => {
      await removeDocument(name);
      return "removed";
    });
  }

  // One behind the other, since each is read as soon as it is there.
  async add(files) {
    for (const file of files) {
      await this.acted(file.name, async (told) => {
        const { outcome, passages, notices } = await upload(file, told);
        return [`${outcome}, ${passages === 1 ? "1 passage" : `${passages} passages`}`, ...notices].join("; ");
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

customElements.define("hocket-shelf", Shelf);
