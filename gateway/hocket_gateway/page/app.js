// The page: one conversation at a time, and what its parts tell.

import { answerChunks, documents, models } from "./api.js";
import { leftBetween, newAnswer, take, textOf } from "./answers.js";
import { all, messagesOf, newConversation, put, remove } from "./conversations.js";
import "./composer.js";
import "./history.js";
import "./key.js";
import "./link.js";
import "./log.js";
import "./sheet.js";
import { settings } from "./settings.js";
import "./strip.js";
import { say, translate } from "./words.js";
import "./write.js";

const ALONE = "hocket-alone";
const ANOTHER = { temperature: 0.7 }; // without one the same question has the same answer
const ANYWAY = { unknown: "answer" };
const AGAIN_MS = 5_000;
const NARROW = matchMedia("(max-width: 40rem)"); // as in style.css: there the history covers the conversation

class App extends HTMLElement {
  connectedCallback() {
    for (const part of ["composer", "history", "key", "link", "log", "sheet", "strip", "write"]) this[part] = this.querySelector(`hocket-${part}`);
    translate(this);
    this.composer.busy = false;
    this.listen();
    this.resume(newConversation());
    this.connect();
  }

  listen() {
    const acts = {
      ask: ({ question, model, turn }) => (turn ? this.replace(turn, question, model) : this.ask(question, model)),
      again: ({ turn }) => this.replace(turn, turn.question, turn.model, settings().temperature > 0 ? {} : ANOTHER),
      anyway: ({ turn }) => this.replace(turn, turn.question, turn.model, ANYWAY),
      alone: ({ turn }) => this.replace(turn, turn.question, ALONE),
      edit: ({ turn }) => this.composer.edit(turn),
      why: ({ turn }) => this.sheet.openWhy(turn),
      left: ({ turn }) => this.sheet.openLeft(turn),
      state: (state) => this.learn(state),
      switched: () => this.strip.refresh(),
      changed: () => this.countDocuments(),
      suggest: ({ text }) => this.composer.send(text),
      documents: () => this.sheet.openList(),
      stop: () => this.stopping?.abort(),
      open: (source) => this.sheet.openSource(source),
      key: () => this.connect(),
      resume: (conversation) => this.resume(conversation),
      forget: (id) => this.forget(id),
      amend: ({ conversation, changes }) => this.amend(conversation, changes),
    };
    for (const [name, act] of Object.entries(acts)) this.addEventListener(name, (event) => act(event.detail));
    const buttons = {
      new: () => this.resume(newConversation()),
      documents: () => this.sheet.openList(),
      history: () => this.toggleHistory(this.history.hidden),
      write: () => this.write.open(),
      settings: async () => this.sheet.openSettings((this.state ?? (await this.strip.refresh()))?.leaves),
    };
    for (const [name, act] of Object.entries(buttons)) this.buttonOf(name).addEventListener("click", act);
    this.history.addEventListener("keydown", ({ key, target }) => key === "Escape" && !target.value && this.leaveHistory());
    window.addEventListener("storage", () => this.showHistory());
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => this.drop(event));
  }

  // Wherever it is dropped: the browser would leave the page for the file.
  drop(event) {
    event.preventDefault();
    const { files } = event.dataTransfer;
    if (files.length) this.sheet.add([...files]);
  }

  // How the pair is, as /status has it.
  learn(state) {
    this.state = state;
    this.link.show(state?.cut);
    this.log.greet(state, this.number ?? null, this.more);
  }

  buttonOf(name) {
    return this.querySelector(`[data-does=${name}]`);
  }

  async connect() {
    try {
      this.composer.models = await models();
      const state = await this.strip.refresh();
      if (state?.retrieval === "connected") await this.countDocuments();
    } catch (error) {
      if (error.status === 401) this.key.ask(error.message);
      else setTimeout(() => this.connect(), AGAIN_MS);
    }
  }

  async countDocuments() {
    const page = await documents().catch(() => null); // the gateway may know no retrieval daemon
    if (!page) return;
    this.number = page.documents.length;
    this.more = page.next !== null;
    this.buttonOf("documents").textContent = `${say("Documents")} (${this.number}${this.more ? "+" : ""})`;
    this.log.greet(this.state, this.number, this.more);
  }

  // Shows a conversation from here on; an answer in work is stopped.
  resume(conversation) {
    if (NARROW.matches) this.toggleHistory(false);
    if (conversation.id === this.conversation?.id) return;
    this.stopping?.abort();
    this.composer.busy = false;
    this.conversation = conversation;
    for (const { answer } of conversation.turns) if (!answer.over) Object.assign(answer, { over: true, finish: "cancelled" });
    this.log.show(conversation.turns);
    this.showHistory();
    this.composer.edit(null);
  }

  // Asks in the place of a turn. Where others follow it, that is a new conversation: nothing of this one is lost.
  replace(turn, question, model, drawing = {}) {
    if (this.composer.busy) return;
    const { conversation } = this;
    const at = conversation.turns.indexOf(turn);
    if (at < conversation.turns.length - 1) {
      this.resume({ ...newConversation(), turns: conversation.turns.slice(0, at) });
    } else {
      conversation.turns.pop();
      this.log.removeLast();
    }
    this.ask(question, model, drawing);
  }

  forget(id) {
    remove(id);
    if (id === this.conversation.id) this.resume(newConversation());
    else this.showHistory();
  }

  amend(conversation, changes) {
    const amended = conversation.id === this.conversation.id ? this.conversation : conversation;
    put(Object.assign(amended, changes));
    this.showHistory();
  }

  toggleHistory(isSeen) {
    this.history.hidden = !isSeen;
    this.buttonOf("history").ariaExpanded = String(isSeen);
  }

  leaveHistory() {
    this.toggleHistory(false);
    this.buttonOf("history").focus();
  }

  showHistory() {
    this.history.show(all(), this.conversation.id);
  }

  async ask(question, model, drawing = {}) {
    const { conversation } = this;
    const messages = [...messagesOf(conversation.turns, textOf), { role: "user", content: question }];
    const turn = { question, model, answer: newAnswer() };
    conversation.turns.push(turn);
    const shown = this.log.add(turn);
    const stopping = new AbortController();
    this.stopping = stopping;
    this.composer.busy = true;
    this.save(conversation);
    const before = await this.strip.refresh();
    await this.follow(turn.answer, shown, answerChunks(model, messages, { ...settings(), ...drawing }, stopping.signal));
    if (this.stopping === stopping) this.composer.busy = false;
    if (!turn.answer.error) turn.answer.left = leftBetween(before, await this.strip.refresh());
    turn.answer.over = true;
    await this.log.end(shown);
    this.save(conversation);
  }

  async follow(answer, shown, chunks) {
    try {
      for await (const chunk of chunks) {
        take(answer, chunk);
        this.log.grow(shown);
      }
    } catch (error) {
      if (error.name === "AbortError") answer.finish = "cancelled";
      else answer.error = error.message;
      if (error.status === 401) this.key.ask(error.message);
    }
  }

  save(conversation) {
    conversation.at = Date.now();
    put(conversation);
    this.showHistory();
  }
}

customElements.define("hocket-app", App);
