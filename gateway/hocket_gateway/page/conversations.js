// Conversations in this browser's storage, the pinned ones first, then the newest: {id, at, title, pinned, turns:
// [{question, model, answer}]}; without a title the first question is it.

import { shown, textOf } from "./answers.js";
import { language, say } from "./words.js";

const PLACE = "hocket-conversations";

export function newConversation() {
  return { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), at: Date.now(), turns: [] };
}

export function titleOf(conversation) {
  return conversation.title || (conversation.turns[0]?.question ?? say("New conversation"));
}

export function all() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? [];
  } catch {
    return [];
  }
}

// Another tab may have written meanwhile: what is there is read first.
export function put(conversation) {
  save([conversation, ...all().filter(({ id }) => id !== conversation.id)]);
}

export function remove(gone) {
  save(all().filter(({ id }) => id !== gone));
}

function save(conversations) {
  conversations.sort((one, other) => Boolean(other.pinned) - Boolean(one.pinned) || other.at - one.at);
  for (let number = conversations.length; number >= 0; number -= 1) {
    try {
      localStorage.setItem(PLACE, JSON.stringify(conversations.slice(0, number)));
      return;
    } catch {
      // The storage is full: the oldest one goes.
    }
  }
}

// Whether a title, a question or an answer has these words.
export function matches(conversation, words) {
  const texts = conversation.turns.flatMap(({ question, answer }) => [question, textOf(answer)]);
  const all = [titleOf(conversation), ...texts].join("\n").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

// By the suffix of the file: a name, a type, and what writes a conversation with the sources of each answer.
export const FORMATS = {
  md: { name: "Markdown", type: "text/markdown", write: asMarkdown },
  json: { name: "JSON", type: "application/json", write: asJson },
};

function asMarkdown(conversation) {
  const turns = conversation.turns.map(({ question, answer }) => {
    const sources = shown(answer).map(({ title }) => `- ${title}`);
    return [`## ${question}`, textOf(answer), sources.length ? `${say("Sources")}:\n\n${sources.join("\n")}` : ""].filter(Boolean).join("\n\n");
  });
  return [`# ${titleOf(conversation)}`, new Date(conversation.at).toLocaleString(language), ...turns].join("\n\n") + "\n";
}

function asJson(conversation) {
  const turns = conversation.turns.map(({ question, model, answer }) => {
    const sources = (answer.sources ?? []).map(({ side, document, ordinal, title, share, text }) => ({ side, document, ordinal, title, share, text }));
    const { id, finish, notices } = answer;
    return { question, model, answer: textOf(answer), id, finish, notices, sources };
  });
  return `${JSON.stringify({ title: titleOf(conversation), at: new Date(conversation.at).toISOString(), turns }, null, 2)}\n`;
}

// The whole conversation as the API takes it; a question without a word of an answer is left out.
export function messagesOf(turns, textOf) {
  return turns.flatMap(({ question, answer }) => {
    const text = textOf(answer);
    return text ? [{ role: "user", content: question }, { role: "assistant", content: text }] : [];
  });
}
