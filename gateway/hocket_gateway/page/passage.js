// Where a passage stands in its document. Blanks and ends of lines may differ: a document is read, and then cut.

// The text before the passage, the passage, and the text behind it; all of it before where it is not found.
export function around(text, passage) {
  const words = passage.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const found = words[0] ? new RegExp(words.join("\\s+")).exec(text) : null;
  if (!found) return [text, "", ""];
  return [text.slice(0, found.index), found[0], text.slice(found.index + found[0].length)];
}
