// What there is to do before the first question: documents, the cloud, a model. Tells `documents` where some are to be
// added, and `suggest` with a question.

import { made, tell } from "./dom.js";
import { count, language, say } from "./words.js";

const QUESTIONS = ["Which documents do I have?", "What did I write last?"]; // answered from the list of documents

class Welcome extends HTMLElement {
  constructor() {
    super();
    this.steps = made("ol", { className: "steps" });
    this.tries = made("div", { className: "tries", role: "group", ariaLabel: say("Questions to begin with") });
    const about = say("Ask a question. Device and cloud write one answer, each from documents of its own.");
    this.parts = [made("p", { textContent: about }), this.steps, this.tries];
  }

  connectedCallback() {
    this.replaceChildren(...this.parts);
  }

  // `state` is as /status has it, and null where the gateway does not answer; `number` is that of the documents, of which
  // there may be `more`, and null where there is no list.
  show(state, number, more) {
    const steps = state?.running ? [documents(this, number, more), cloud(state), model(state)].filter(Boolean) : [starting(state)];
    const tries = number ? QUESTIONS.map((text) => said(this, say(text))) : [];
    const words = [...steps, ...tries].map(({ textContent }) => textContent).join("\n");
    if (words === this.words) return; // what has the focus keeps it
    this.words = words;
    this.steps.replaceChildren(...steps);
    this.tries.replaceChildren(...tries);
  }
}

function step(isDone, text, ...more) {
  return made("li", { className: isDone ? "done" : "open" }, made("span", { textContent: text }), ...more);
}

function starting(state) {
  return step(false, state ? say("The pair is not running. Start it: hocket up") : say("The gateway does not answer, or requires a key."));
}

function documents(welcome, number, more) {
  if (number === null) return null;
  const add = made("button", { type: "button", textContent: say("Add documents"), onclick: () => tell(welcome, "documents") });
  if (number === 0) return step(false, say("This device has no documents yet: answers come from the cloud's, or from the models alone."), add);
  if (more) return step(true, say("This device has more than {number} documents.", { number: number.toLocaleString(language) }), add);
  return step(true, count(number, "This device has 1 document.", "This device has {number} documents."), add);
}

function cloud({ cloud, cut }) {
  if (cut) return step(false, say("The link to the cloud is cut: this device answers alone."));
  if (cloud?.startsWith("connected")) return step(true, say("The cloud is connected."));
  return step(false, say("No cloud is connected: this device answers alone."));
}

function model({ model, better_model: better }) {
  if (!model) return null;
  return step(!better, say("The model of this device is {model}.", { model: model.split("/").at(-1) }), ...(better ? [made("small", { textContent: better })] : []));
}

function said(welcome, text) {
  return made("button", { type: "button", textContent: text, onclick: () => tell(welcome, "suggest", { text }) });
}

customElements.define("hocket-welcome", Welcome);
