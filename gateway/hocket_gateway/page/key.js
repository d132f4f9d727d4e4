// Asks for a key where the gateway wants one. Tells `key` once it was entered.

import { setKey } from "./api.js";
import { made, tell } from "./dom.js";
import { say } from "./words.js";

class Key extends HTMLElement {
  connectedCallback() {
    this.field = made("input", { id: "key", type: "password", autocomplete: "off", required: true });
    this.why = made("span", { id: "why" });
    const form = made(
      "form",
      { onsubmit: (event) => this.onSubmit(event) },
      made("label", { htmlFor: "key", textContent: say("Key") }),
      this.field,
      made("button", { type: "submit", textContent: say("Use it") }),
      this.why,
    );
    this.append(form);
  }

  ask(why) {
    this.why.textContent = why;
    this.hidden = false;
    this.field.focus();
  }

  onSubmit(event) {
    event.preventDefault();
    setKey(this.field.value.trim());
    this.field.value = "";
    this.hidden = true;
    tell(this, "key");
  }
}

customElements.define("hocket-key", Key);
