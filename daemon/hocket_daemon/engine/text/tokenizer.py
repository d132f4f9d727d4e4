"""The text side of a transformers model: its vocabulary, and how its prompts are laid out.

A model with a chat template is asked through it; any other gets the plain layout that the bundled models read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Task

from ..sampling.distribution import VOCABULARY_LIMIT
from .chat_template import turn
from .spelling import AnyTokenizer, Spelling

Encode: TypeAlias = Callable[[str, str, str], list[int]]
"""Token ids of a layout's text before, somebody's text, and a layout's text behind it, without a BOS id."""


class Prefix(NamedTuple):
    """A document as a model reads it: its text, and all token ids from position 0 to the document's end."""

    text: str
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Text before the passage, between passage and question, and behind the question; tokenised apart."""

    before: str
    between: str
    behind: str
    bos: tuple[int, ...]
    encode: Encode

    def document(self, passage: str) -> list[int]:
        """Token ids from position 0 to the passage's end."""
        return [*self.bos, *self.encode(self.before, passage.strip(), "")]

    def question(self, question: str) -> list[int]:
        """Token ids behind the passage, up to where the answer begins."""
        return self.encode(self.between, question.strip(), self.behind)

    def own(self, question: str) -> range:
        """Which of the tokens of `question` are the question's: all that are not the layout's alone."""
        ids = self.question(question)
        before = common_prefix_length(ids, self.encode(self.between, "", ""))
        behind = common_prefix_length(ids[::-1], self.encode("", "", self.behind)[::-1])
        return range(before, len(ids) - behind)


_PASSAGE = "\x02passage\x03"
_QUESTION = "\x02question\x03"
_BEFORE = "\n"  # joins with nothing
_INSTRUCTION = "Answer briefly and from this passage only."


def fingerprint(tokenizer: AnyTokenizer) -> str:
    """Equal for two tokenizers exactly when they number the same tokens the same way."""
    return fingerprint_of(tokenizer.get_vocab())


def fingerprint_of(vocabulary: dict[str, int]) -> str:
    """The same of every piece and its number."""
    return hashlib.sha256(json.dumps(sorted(vocabulary.items())).encode()).hexdigest()


def size_of(vocabulary: dict[str, int], place: str) -> int:
    """Token ids are below this number. Raises BadConfiguration for more than a distribution can name."""
    size = max(vocabulary.values()) + 1
    if size > VOCABULARY_LIMIT:
        raise BadConfiguration(f"'{place}' has {size} tokens, the limit is {VOCABULARY_LIMIT}", "use another")
    return size


class Worded:
    """What every model with a tokenizer says of text. From any thread."""

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self.tokenizer = tokenizer
        self._spelling = Spelling(tokenizer)

    def text(self, ids: list[int]) -> str:
        """The text of answer tokens, without special ones."""
        return text_of(self.tokenizer, ids)

    def layout(self, task: Task) -> Layout:
        """How a passage and a question are laid out."""
        return layout_for(self._spelling, task)

    def continued(self, text: str) -> list[int]:
        """Ids of a text that goes on behind another one."""
        return continued_ids(self._spelling, text)

    def prompt(self, text: str, task: Task) -> list[int]:
        """Ids of a whole prompt: a user's turn where the model has a chat template, or else `text` as it stands."""
        return prompt_ids(self._spelling, text, task)


def continued_ids(spelling: Spelling, text: str) -> list[int]:
    """Ids of `text` as it stands behind other text: some tokenizers begin a text with a blank of their own."""
    before, whole = spelling.ids("", _BEFORE, ""), spelling.ids("", _BEFORE + text, "")
    return whole[len(before) :] if whole[: len(before)] == before else spelling.ids("", text, "")


def text_of(tokenizer: AnyTokenizer, ids: list[int]) -> str:
    """The text of `ids` without special tokens, exactly as it was tokenised."""
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def layout_for(spelling: Spelling, task: Task) -> Layout:
    """The layout of a passage and a question for the model of `spelling`'s tokenizer."""
    tokenizer, encode = spelling.tokenizer, spelling.ids
    bos = _bos(tokenizer)
    if task == "complete":
        return Layout("", "\n\n", "", bos, encode)
    if _template(tokenizer) is None:
        return Layout("", "\n\nQuestion: ", "\nAnswer:", bos, encode)
    text = _turn(tokenizer, f"{_INSTRUCTION}\n\n{_PASSAGE}\n\n{_QUESTION}")
    before, rest = text.split(_PASSAGE)
    between, behind = rest.split(_QUESTION)
    return Layout(before, between, behind, (), encode)


def prompt_ids(spelling: Spelling, text: str, task: Task) -> list[int]:
    """A whole prompt from position 0: a user's turn where there is a chat template, or else `text` as it stands."""
    tokenizer = spelling.tokenizer
    if task == "complete" or _template(tokenizer) is None:
        return [*_bos(tokenizer), *spelling.ids("", text, "")]
    before, behind = _turn(tokenizer, _QUESTION).split(_QUESTION)
    return spelling.ids(before, text, behind)


def _bos(tokenizer: AnyTokenizer) -> tuple[int, ...]:
    return () if tokenizer.bos_token_id is None else (int(tokenizer.bos_token_id),)


def _turn(tokenizer: AnyTokenizer, content: str) -> str:
    template = _template(tokenizer)
    assert template is not None, "asked for where there is one"
    return turn(template, tokenizer.special_tokens_map, content)


def _template(tokenizer: AnyTokenizer) -> str | None:
    """Of several with names the default one."""
    template = tokenizer.chat_template
    return template.get("default") if isinstance(template, dict) else template
