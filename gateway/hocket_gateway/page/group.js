// The devices of a group around an answer: who was asked, who declined, who is not there, and who answered with what
// share. A picture, and the same in words beside it.

import { made, percent } from "./dom.js";
import { say } from "./words.js";

const SVG = "http://www.w3.org/2000/svg"; // a name, which no browser asks for
const WIDTH = 360;
const ROW = 30; // between two devices
const [DEVICE, CLOUD, OTHERS] = [24, 116, 220];
const MOST_CHARS = 16; // of a name beside its circle

class Group extends HTMLElement {
  show(devices) {
    this.hidden = devices.length === 0;
    if (this.hidden) return;
    const list = made("ul", { ariaLabel: say("Devices of the group") });
    list.append(...devices.map((each) => made("li", { className: each.state, textContent: lineOf(each) })));
    this.replaceChildren(picture(devices), list);
  }
}

function lineOf({ name, state, why, share }) {
  if (state === "answered") return say("{name} answered, with {share} of the answer", { name, share: percent(share) });
  if (state === "drafted") return say("{name} {why}, with {share} of the answer", { name, why, share: percent(share) });
  return why ? `${name} ${why}` : say("{name} was asked", { name });
}

function picture(devices) {
  const height = Math.max(2, devices.length) * ROW;
  const middle = height / 2;
  const drawn = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, "aria-hidden": "true" });
  const line = (x, y, toX, toY, kind) => svg("line", { x1: x, y1: y, x2: toX, y2: toY, class: kind });
  const node = (x, y, kind) => svg("circle", { cx: x, cy: y, r: 9, class: kind });
  const label = (x, y, text, anchor = "middle") => Object.assign(svg("text", { x, y, "text-anchor": anchor }), { textContent: text });
  drawn.append(line(DEVICE, middle, CLOUD, middle, "answered"));
  devices.forEach(({ name, state, share }, at) => {
    const y = (at + 0.5) * (height / devices.length);
    const way = line(CLOUD, middle, OTHERS, y, state);
    way.style.strokeWidth = `${1.5 + 5 * Math.min(1, share)}px`;
    drawn.append(way, node(OTHERS, y, state), label(OTHERS + 16, y + 4, name.slice(0, MOST_CHARS), "start"));
  });
  drawn.append(node(DEVICE, middle, "device"), node(CLOUD, middle, "cloud"));
  drawn.append(label(DEVICE, middle + 24, say("here")), label(CLOUD, middle + 24, say("cloud")));
  return drawn;
}

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

customElements.define("hocket-group", Group);
