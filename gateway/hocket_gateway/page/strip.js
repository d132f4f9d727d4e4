// How the pair is, in one line; asked for again now and then while the page is seen. Tells `state` with what it found.

import { status } from "./api.js";
import { made, percent, tell } from "./dom.js";
import { say } from "./words.js";

const EVERY_MS = 10_000;

class Strip extends HTMLElement {
  connectedCallback() {
    this.isLetIn = false; // before, each look would be refused
    this.timer = setInterval(() => this.isLetIn && !document.hidden && this.refresh(), EVERY_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  // The state that it has found; null where nobody says.
  async refresh() {
    try {
      const found = await status();
      this.isLetIn = true;
      this.show(partsOf(found));
      tell(this, "state", found);
      return found;
    } catch (error) {
      this.isLetIn = error.status !== 401;
      tell(this, "state", null);
      this.show([["down", say(error.status === 401 ? "a key is needed" : "the gateway does not answer"), error.message]]);
      return null;
    }
  }

  show(parts) {
    this.replaceChildren(...parts.map(([className, text, title]) => made("span", { className, textContent: text, title })));
  }
}

function partsOf(found) {
  if (!found.running) return [["down", say("the pair is not running"), "hocket up"]];
  const isUp = found.cloud?.startsWith("connected");
  const line = say(isUp ? "cloud connected" : found.cut ? "the link is cut: this device answers alone" : "no cloud");
  const parts = [[isUp ? "up" : "down", line, found.cloud ?? ""]];
  if (isUp && found.round_trip_s) parts.push(["", `${(1000 * found.round_trip_s).toFixed(1)} ms`, say("round trip to the cloud")]);
  const accepted = Object.entries(found.acceptance).map(([side, part]) => `${say(side)} ${percent(part)}`);
  if (accepted.length) parts.push(["", say("accepted: {shares}", { shares: accepted.join(", ") }), say("share of each side's drafts that was accepted, since the start")]);
  if (found.model) parts.push(["model", found.model.split("/").at(-1), say("the model of this device: {model}", { model: found.model })]);
  return parts;
}

customElements.define("hocket-strip", Strip);
