// The switch that cuts the link to the cloud, for all who ask here. Tells `switched` once it was turned.

import { cutLink } from "./api.js";
import { made, tell } from "./dom.js";
import { say } from "./words.js";

class Link extends HTMLElement {
  connectedCallback() {
    this.button = made("button", { type: "button", role: "switch", onclick: () => this.turn() });
    this.button.append(made("span", { className: "knob", ariaHidden: "true" }), say("Cloud"));
    this.why = made("span", { className: "error", role: "alert" });
    this.append(this.button, this.why);
  }

  // `cut` is whether it is cut; null where this reader may not turn it, or there is no cloud.
  show(cut) {
    this.hidden = cut === null || cut === undefined;
    this.button.ariaChecked = String(!cut);
    this.button.title = say(cut ? "The link is cut: this device answers alone. Reconnect" : "Cut the link to the cloud; this device then answers alone");
  }

  async turn() {
    this.button.disabled = true;
    try {
      const { cut } = await cutLink(this.button.ariaChecked === "true");
      this.why.textContent = "";
      this.show(cut);
      tell(this, "switched");
    } catch (error) {
      this.why.textContent = error.message;
    } finally {
      this.button.disabled = false;
      this.button.focus();
    }
  }
}

customElements.define("hocket-link", Link);
