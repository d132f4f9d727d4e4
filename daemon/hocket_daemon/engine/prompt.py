"""How a question and a passage are laid out for a model: the document prefix first, so that its KV can be kept.

A model with a chat template is asked through it; any other gets the plain layout that the bundled models read.
"""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from hocket_bus.messages import Task

_PASSAGE = "\x02passage\x03"
_QUESTION = "\x02question\x03"
_INSTRUCTION = "Answer briefly and from this passage only."


@dataclass(frozen=True, slots=True)
class Layout:
    """Text before the passage, between passage and question, and behind the question; tokenised apart."""

    before: str
    between: str
    behind: str
    bos: tuple[int, ...]

    def document(self, tokenizer: PreTrainedTokenizerBase, passage: str) -> list[int]:
        """Token ids from position 0 to the passage's end."""
        return [*self.bos, *_ids(tokenizer, self.before, passage.strip(), "")]

    def question(self, tokenizer: PreTrainedTokenizerBase, question: str) -> list[int]:
        """Token ids behind the passage, up to where the answer begins."""
        return _ids(tokenizer, self.between, question.strip(), self.behind)


def layout_for(tokenizer: PreTrainedTokenizerBase, task: Task) -> Layout:
    """The layout of `tokenizer`'s model for a task."""
    bos = () if tokenizer.bos_token_id is None else (int(tokenizer.bos_token_id),)
    if task == "complete":
        return Layout("", "\n\n", "", bos)
    if tokenizer.chat_template is None:
        return Layout("", "\n\nQuestion: ", "\nAnswer:", bos)
    content = f"{_INSTRUCTION}\n\n{_PASSAGE}\n\n{_QUESTION}"
    text = str(
        tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    )
    before, rest = text.split(_PASSAGE)
    between, behind = rest.split(_QUESTION)
    return Layout(before, between, behind, ())


def _ids(tokenizer: PreTrainedTokenizerBase, before: str, text: str, behind: str) -> list[int]:
    """Of `text` in its layout. The name of a special token in it is text like any other: nobody's passage may close
    the user's turn."""
    ids = _tokens(tokenizer, before + text + behind)
    parts = _tokens(tokenizer, before), _tokens(tokenizer, behind)
    special = set(tokenizer.all_special_ids)
    if sum(id in special for id in ids) == sum(id in special for part in parts for id in part):
        return ids
    return [*parts[0], *_tokens(tokenizer, text, split_special_tokens=True), *parts[1]]


def _tokens(tokenizer: PreTrainedTokenizerBase, text: str, *, split_special_tokens: bool = False) -> list[int]:
    if not text:
        return []
    options = {"add_special_tokens": False, "split_special_tokens": split_special_tokens}
    return list(tokenizer(text, **options)["input_ids"])
