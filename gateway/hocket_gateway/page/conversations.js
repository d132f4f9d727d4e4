// Conversations in this browser's storage, the newest first: {id, at, turns: [{question, model, answer}]}.

const PLACE = "hocket-conversations";

export function newConversation() {
  return { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), at: Date.now(), turns: [] };
}

export function titleOf(conversation) {
  return conversation.turns[0]?.question ?? "New conversation";
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
  conversations.sort((one, other) => other.at - one.at);
  for (let number = conversations.length; number >= 0; number -= 1) {
    try {
      localStorage.setItem(PLACE, JSON.stringify(conversations.slice(0, number)));
      return;
    } catch {
      // The storage is full: the oldest one goes.
    }
  }
}

// The whole conversation as the API takes it; a question without a word of an answer is left out.
export function messagesOf(turns, textOf) {
  return turns.flatMap(({ question, answer }) => {
    const text = textOf(answer);
    return text ? [{ role: "user", content: question }, { role: "assistant", content: text }] : [];
  });
}
