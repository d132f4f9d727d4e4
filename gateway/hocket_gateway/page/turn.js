// A question and its answer, with its notices, its finish, what left, and what can be done with it. Tells `again`, `edit`,
// `anyway`, `alone` and `why` with the turn, and `left` likewise.

import { PROPOSED, devicesOf, finishOf, gateLine, leftLine, liveSources, shown, textOf, wayLine } from "./answers.js";
import { made, tell } from "./dom.js";
import { hasMarkdown } from "./formatted.js";
import "./group.js";
import { noticeText } from "./notices.js";
import "./sources.js";
import "./text.js";
import { say } from "./words.js";

const ALONE = "hocket-alone";

export class Turn extends HTMLElement {
  // Shows a turn of a conversation; `update` follows as its answer grows, and `end` once it is over.
  show(turn) {
    this.turn = turn;
    this.text = made("hocket-text", { className: "text" }).show(turn.answer);
    this.thought = made("p");
    this.thoughts = made("details", { className: "thoughts", hidden: true }, made("summary", { textContent: say("Thoughts") }), this.thought);
    this.formatted = made("hocket-formatted", { className: "formatted", hidden: true });
    this.waiting = made("p", { className: "waiting", role: "status", hidden: true });
    this.notices = made("ul", { className: "notices" });
    this.group = made("hocket-group");
    this.facts = made("div", { className: "facts" });
    this.sources = made("hocket-sources", { hidden: true });
    const answer = made("div", { className: "answer" }, this.thoughts, this.text, this.formatted, this.waiting, this.notices, this.group, this.facts);
    this.append(made("h2", { className: "question", textContent: turn.question }), answer, this.sources);
    this.update();
    return this;
  }

  // Whether there is more to lay out.
  update() {
    const { answer } = this.turn;
    const more = this.text.grow();
    this.think(answer);
    this.wait(answer);
    if (this.notices.childElementCount !== answer.notices.length) this.news(answer);
    if (answer.live) this.sources.show(liveSources(answer));
    this.text.ariaBusy = String(!answer.over);
    return more;
  }

  // What a server thought before the answer, folded.
  think({ thought = "" }) {
    this.thoughts.hidden = !thought;
    if (this.thought.textContent !== thought) this.thought.textContent = thought;
  }

  // For whom the answer waits, until the next token.
  wait({ waiting = "", over }) {
    this.waiting.hidden = over || !waiting;
    if (this.waiting.textContent !== waiting) this.waiting.textContent = waiting;
  }

  news(answer) {
    this.notices.replaceChildren(...answer.notices.map((notice) => made("li", { textContent: noticeText(notice) })));
    this.group.show(devicesOf(answer));
  }

  async end() {
    const { turn } = this;
    const { answer, model } = turn;
    await this.text.finish();
    if (hasMarkdown(answer)) this.format(await this.formatted.show(answer));
    this.news(answer);
    this.wait(answer);
    this.text.ariaBusy = String(!answer.over);
    this.sources.show(answer.live ? liveSources(answer) : shown(answer)); // the former where it was stopped
    const finish = finishOf(answer);
    const lines = [
      finish && made("p", { className: answer.error ? "finish error" : "finish", textContent: finish }),
      this.left(turn),
      this.actions(turn),
      details(answer, model),
    ];
    this.facts.replaceChildren(...lines.filter(Boolean));
  }

  // Shows the text as it is meant, or as it was written: each token in the colour of who proposed it.
  format(on) {
    this.formatted.hidden = !on;
    this.text.hidden = on;
  }

  // What left, which is opened where its record may be seen.
  left(turn) {
    const { answer, model } = turn;
    const line = leftLine(model, answer);
    if (answer.left === null || !answer.id) return made("p", { className: "left", textContent: line });
    return made("button", { type: "button", className: "left", title: say("What the cloud saw, class by class"), textContent: line, onclick: () => tell(this, "left", { turn }) });
  }

  toggle(button) {
    this.format(this.formatted.hidden);
    button.ariaPressed = String(!this.text.hidden);
  }

  actions(turn) {
    const act = (name, text, title) =>
      made("button", { type: "button", className: name, textContent: say(text), title: say(title), onclick: () => tell(this, name, { turn }) });
    const { answer, model } = turn;
    return made(
      "div",
      { className: "actions", role: "group", ariaLabel: say("Actions for this answer") },
      ...[
        answer.id && act("why", "Why?", "How it was decided, and where the time went"),
        textOf(answer) && made("button", { type: "button", className: "copy", textContent: say("Copy"), title: say("Copy the text of this answer"), onclick: ({ target }) => copy(target, textOf(answer)) }),
        this.formatted.hasChildNodes() && made("button", { type: "button", className: "written", ariaPressed: String(!this.text.hidden), textContent: say("Tokens"), title: say("Show each token in the colour of who proposed it"), onclick: ({ target }) => this.toggle(target) }),
        answer.finish === "unknown" && act("anyway", "Answer anyway", "From what the models know, which may be invented"),
        act("again", "Ask again", "Replace this answer with a new one"),
        model !== ALONE && act("alone", "Without the cloud", "The same question, answered by this device alone"),
        act("edit", "Edit", "Change the question, and ask it again"),
      ].filter(Boolean),
    );
  }
}

// How it was written, for who wants to know; folded.
function details(answer, model) {
  const { routing, id } = answer;
  const lines = [
    answer.tokens.length && legend(answer),
    routing && made("p", { className: "way", textContent: wayLine(routing) }),
    routing?.gate && made("p", { className: "gate", textContent: gateLine(routing.gate) }),
    id && made("p", {}, `${model} · `, made("code", { textContent: `hocket explain ${id}` })),
  ].filter(Boolean);
  return lines.length && made("details", { className: "details" }, made("summary", { textContent: say("Details") }), ...lines);
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = say("Copied");
}

function legend(answer) {
  const list = made("ul", { className: "legend", ariaLabel: say("Tokens by who proposed them") });
  for (const [source, meaning] of Object.entries(PROPOSED)) {
    const number = answer.tokens.filter(([, each]) => each === source).length;
    if (number) list.append(made("li", { title: say(meaning) }, made("span", { className: source, textContent: say(source) }), ` ${number}`));
  }
  if (answer.unsupported.length) {
    const mark = made("span", { className: "unsupported", textContent: say("in no passage") });
    list.append(made("li", {}, mark, ` ${answer.unsupported.length}`));
  }
  return list;
}

customElements.define("hocket-turn", Turn);
