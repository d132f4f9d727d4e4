// Where a question is typed, or changed. Tells `ask` with the question, the model and the turn that it takes the place
// of, if there is one, and `stop`.

import { made, tell } from "./dom.js";
import { say } from "./words.js";

const MODEL = "hocket-model";

class Composer extends HTMLElement {
  connectedCallback() {
    const rows = CSS.supports("field-sizing", "content") ? 1 : 3;
    this.field = made("textarea", { id: "question", rows, placeholder: say("Ask your documents") });
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.model = made("select", { id: "model", onchange: () => this.chosen() });
    this.about = made("span", { className: "about" });
    this.button = made("button", { type: "submit", textContent: say("Send") });
    const form = made(
      "form",
      { onsubmit: (event) => this.onSubmit(event) },
      made("label", { htmlFor: "question", className: "unseen", textContent: say("Question") }),
      this.field,
      this.button,
      made("div", { className: "choice" }, made("label", { htmlFor: "model", textContent: say("Way") }), this.model, this.about),
    );
    this.editing = made("p", { className: "editing", hidden: true, role: "status", textContent: say("You are editing a question. Esc cancels.") });
    this.append(this.editing, form);
    document.addEventListener("keydown", (event) => this.onEscape(event));
  }

  // The ways of answering, as /v1/models has them.
  set models(models) {
    this.model.replaceChildren(
      ...models.map(({ id, description }) => made("option", { value: id, textContent: id, title: say(description) })),
    );
    const before = localStorage.getItem(MODEL);
    if (models.some(({ id }) => id === before)) this.model.value = before;
    this.chosen();
  }

  set busy(busy) {
    this.classList.toggle("busy", busy);
    this.button.textContent = say(busy ? "Stop" : "Send");
    this.button.title = say(busy ? "Stop the answer (Esc)" : "Send (Enter; Shift+Enter starts a new line)");
  }

  // The question of a turn, to be changed and asked in its place.
  edit(turn) {
    this.turn = turn;
    this.editing.hidden = !turn;
    this.field.value = turn?.question ?? "";
    this.field.focus();
  }

  // A question of the page's own, in place of what is written.
  send(text) {
    this.field.value = text;
    this.ask();
  }

  get busy() {
    return this.classList.contains("busy");
  }

  chosen() {
    this.about.textContent = this.model.selectedOptions[0]?.title ?? "";
    if (this.model.value) localStorage.setItem(MODEL, this.model.value);
  }

  onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.busy) this.ask();
  }

  onEscape(event) {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (this.busy) tell(this, "stop");
    else if (this.turn) this.edit(null);
  }

  onSubmit(event) {
    event.preventDefault();
    if (this.busy) tell(this, "stop");
    else this.ask();
  }

  ask() {
    const question = this.field.value.trim();
    if (!question || !this.model.value) return;
    const { turn } = this;
    this.edit(null);
    tell(this, "ask", { question, model: this.model.value, turn });
  }
}

customElements.define("hocket-composer", Composer);
