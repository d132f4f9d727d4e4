// Elements of the document, made in one line. Text is set as text: nothing that arrives becomes markup.

export function made(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// An event that the page, above, acts upon.
export function tell(element, name, detail = {}) {
  element.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
}

// A button that acts at its second click: the first one asks, and whoever goes elsewhere has not answered.
export function sure(button, question, act) {
  const before = button.textContent;
  button.addEventListener("blur", () => {
    button.classList.remove("sure");
    button.textContent = before;
  });
  button.addEventListener("click", () => {
    if (button.classList.contains("sure")) act();
    button.classList.add("sure");
    button.textContent = question;
  });
  return button;
}

export function seconds(time) {
  return time < 1 ? `${Math.round(1000 * time)} ms` : `${time.toFixed(2)} s`;
}

export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
