// What the page says, in the reader's language: by its English words, in which {name} stands for a value.

import { GERMAN } from "./german.js";

const PLACE = "hocket-language";
const TRANSLATED = { de: GERMAN };

export const LANGUAGES = { "": "As in this browser", en: "English", de: "Deutsch" };

export const language = chosenLanguage() || navigator.language.slice(0, 2);

export function chosenLanguage() {
  return localStorage.getItem(PLACE) ?? "";
}

// The page is laid out anew, since all of its words are others.
export function choose(language) {
  localStorage.setItem(PLACE, language);
  location.reload();
}

export function say(english, values = {}) {
  const text = TRANSLATED[language]?.[english] ?? english;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// A number of things, of which one has a word of its own.
export function count(number, one, several, values = {}) {
  return say(number === 1 ? one : several, { ...values, number: number.toLocaleString(language) });
}

// What stands in the markup.
export function translate(root) {
  document.documentElement.lang = language in TRANSLATED ? language : "en";
  for (const element of root.querySelectorAll("[data-does], [aria-label]")) {
    if (element.matches("button")) element.textContent = say(element.textContent);
    if (element.title) element.title = say(element.title);
    if (element.ariaLabel) element.ariaLabel = say(element.ariaLabel);
  }
}
