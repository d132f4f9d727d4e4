// An answer in Markdown as it is meant: elements made from the gateway's tree, none of which loads or leads anywhere.

import { textOf } from "./answers.js";
import { layout } from "./api.js";
import { made } from "./dom.js";
import { say } from "./words.js";

const MARKS = /^ {0,3}(#{1,6} |[-*+] |\d+[.)] |```|~~~|> |\|)|\*\*|`[^`\n]+`|^\S.*\|.*\n[ |:-]+$/m;
const TAGS = new Set("p h3 h4 h5 h6 ul ol li blockquote pre code hr br strong em s table thead tbody tr th td".split(" "));

// Whether an answer seems to have any Markdown beyond paragraphs.
export function hasMarkdown(answer) {
  return MARKS.test(textOf(answer));
}

class Formatted extends HTMLElement {
  // Shows an answer; whether it could be laid out.
  async show(answer) {
    const tree = await layout(textOf(answer)).catch(() => null);
    if (!tree) return false; // it is shown as it was written
    this.replaceChildren(...elements(tree));
    for (const pre of this.querySelectorAll("pre")) Object.assign(pre, { tabIndex: 0, role: "region", ariaLabel: say("Code") });
    for (const table of this.querySelectorAll("table")) scrolling(table);
    this.mark(answer);
    return true;
  }

  // Marks the words that are in no passage, each where it comes next in the text.
  mark(answer) {
    const letters = [...textOf(answer)];
    const words = answer.unsupported.map(([first, end]) => letters.slice(first, end).join(""));
    const nodes = document.createTreeWalker(this, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(), at = 0; node && words.length; ) {
      const found = node.data.indexOf(words[0], at);
      if (found < 0 && !this.comesLater(words[0], node)) words.shift();
      else if (found < 0) [node, at] = [nodes.nextNode(), 0];
      else {
        const word = node.splitText(found);
        node = nodes.currentNode = word.splitText(words.shift().length);
        const mark = made("span", { className: "unsupported", title: say("in no passage") });
        word.replaceWith(mark);
        mark.append(word);
      }
    }
  }

  comesLater(word, node) {
    const rest = document.createRange();
    rest.setStartAfter(node);
    rest.setEnd(this, this.childNodes.length);
    return rest.toString().includes(word);
  }
}

function elements(tree) {
  return tree.map((node) => (typeof node === "string" ? node : TAGS.has(node[0]) ? made(node[0], {}, ...elements(node[1])) : ""));
}

// A wide table scrolls by itself.
function scrolling(table) {
  const around = made("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: say("Table") });
  table.replaceWith(around);
  around.append(table);
}

customElements.define("hocket-formatted", Formatted);
