// What each question asks for beside its words. It stays in this browser; a field that is left empty has the pair's own
// value.

import { made } from "./dom.js";
import { LANGUAGES, choose, chosenLanguage, say } from "./words.js";

const PLACE = "hocket-settings";
const NUMBERS = [
  ["documents", "Passages of each side", "More is read, and more slowly. Empty: as many as the model reads well.", { min: 1, max: 64, step: 1 }],
  ["temperature", "Temperature", "0: the likeliest word each time. Empty: the pair's own.", { min: 0, max: 10, step: "any" }],
  ["max_tokens", "Longest answer, in tokens", "Empty: as long as the gateway allows.", { min: 1, max: 4096, step: 1 }],
];
const UNKNOWN = {
  "": "Say so",
  mark: "Answer, and mark the answer",
  answer: "Answer from what the models know, which may be invented",
};

// The fields of a request, by the names that the gateway has for them.
export function settings() {
  try {
    const found = JSON.parse(localStorage.getItem(PLACE)) ?? {};
    const known = [...NUMBERS.map(([name]) => name), "unknown"];
    return Object.fromEntries(known.filter((name) => name in found).map((name) => [name, found[name]]));
  } catch {
    return {};
  }
}

function keep(name, value) {
  const found = settings();
  if (value === "") delete found[name];
  else found[name] = value;
  localStorage.setItem(PLACE, JSON.stringify(found));
}

class Settings extends HTMLElement {
  // `leaves` is what may leave this device, where its owner looks.
  show(leaves) {
    const found = settings();
    const unknown = choice(UNKNOWN, found.unknown ?? "", (value) => keep("unknown", value));
    const languages = choice(LANGUAGES, chosenLanguage(), choose);
    const fields = [
      field("unknown", say("When nothing that is found is about a question"), unknown),
      ...NUMBERS.map(([name, title, about, range]) => field(name, say(title), number(name, range, found[name]), say(about))),
      field("language", say("Language of this page"), languages, say("Answers have the language of their question.")),
    ];
    const clear = made("button", { type: "button", className: "clear", textContent: say("Forget these values"), onclick: () => this.clear(leaves) });
    this.replaceChildren(...fields, clear, ...leaving(leaves));
  }

  clear(leaves) {
    localStorage.removeItem(PLACE);
    this.show(leaves);
    this.querySelector("select").focus();
  }
}

function number(name, range, value = "") {
  const input = made("input", { type: "number", ...range, value });
  input.addEventListener("change", () => {
    const isValid = input.checkValidity();
    if (isValid) keep(name, input.value === "" ? "" : Number(input.value));
    input.ariaInvalid = String(!isValid);
    document.getElementById(`settings-${name}-wrong`).textContent = isValid ? "" : say("Not kept: {why}", { why: input.validationMessage });
  });
  return input;
}

function choice(texts, value, chosen) {
  const options = Object.entries(texts).map(([each, text]) => made("option", { value: each, textContent: say(text) }));
  const select = made("select", { onchange: () => chosen(select.value) }, ...options);
  select.value = value;
  return select;
}

function field(name, title, control, about = "") {
  control.id = `settings-${name}`;
  const hint = made("small", { id: `${control.id}-about`, textContent: about });
  if (about) control.setAttribute("aria-describedby", hint.id);
  const wrong = control.matches("input") && made("small", { id: `${control.id}-wrong`, className: "error", role: "alert" });
  return made("p", {}, made("label", { htmlFor: control.id, textContent: title }), control, about && hint, wrong || "");
}

function leaving(leaves) {
  if (!leaves) return [];
  const why = say("It is set in the device's configuration, under [egress]; the switch at the top cuts the link.");
  return [made("h3", { textContent: say("What may leave this device") }), made("p", { className: "leaves", textContent: leaves }), made("p", { textContent: why })];
}

customElements.define("hocket-settings", Settings);
