"""The text side of a transformers model: its vocabulary, and how its prompts are laid out.

A model with a chat template is asked through it; any other gets the plain layout that the bundled models read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from hocket_bus.common_prefix import common_prefix_length
from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Prompt, Task, Turn

from ..sampling.distribution import VOCABULARY_LIMIT
from .chat_template import rendered
from .spelling import AnyTokenizer, Spelling
from .token_bytes import TokenBytes
from .word_tokens import WordTokens, is_byte_level

Encode: TypeAlias = Callable[[str, str, str], list[int]]
"""Token ids of a layout's text before, somebody's text, and a layout's text behind it, without a BOS id."""


class Prefix(NamedTuple):
    """A document as a model reads it: its text, and all token ids from position 0 to the document's end."""

    text: str
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Layout:
    """The text around a system line, a passage, and the questions and answers of a conversation.

    A passage's, question's or answer's text is tokenised with the layout's text before it, and apart from all others.
    """

    before: str
    between: str
    behind: str
    bos: tuple[int, ...]
    encode: Encode
    answered: str = ""  # between an earlier question and its answer
    again: str = ""  # between that and the next question
    opening: str = ""  # before the system line, where there is one
    system: str = ""

    def document(self, passage: str) -> list[int]:
        """Token ids from position 0 to the passage's end."""
        system = self.encode(self.opening, self.system, "") if self.system else []
        return [*self.bos, *system, *self.encode(self.before, passage.strip(), "")]

    def question(self, prompt: Prompt) -> list[int]:
        """Return the token ids after the passage, up to where the answer begins."""
        before, query = self._parts(prompt)
        return [*before, *query]

    def earlier(self, prompt: Prompt) -> int:
        """Count the tokens of `question` that belong to earlier turns."""
        return len(self._parts(prompt)[0])

    def own(self, prompt: Prompt) -> range:
        """Return the tokens of `question` that are the query's: all but the turns' and the layout's."""
        before, query = self._parts(prompt)
        lead = common_prefix_length(query, self.encode(self._lead(prompt), "", ""))
        behind = common_prefix_length(query[::-1], self.encode("", "", self.behind)[::-1])
        return range(len(before) + lead, len(before) + len(query) - behind)

    def turn(self, turn: Turn, lead: str) -> list[int]:
        """Return the token ids of an earlier turn after the layout's text `lead`."""
        return [*self.encode(lead, turn.query.strip(), ""), *self.encode(self.answered, turn.answer.strip(), "")]

    def _parts(self, prompt: Prompt) -> tuple[list[int], list[int]]:
        before = list[int]()
        for number, turn in enumerate(prompt.turns):
            before += self.turn(turn, self.again if number else self.between)
        return before, self.encode(self._lead(prompt), prompt.query.strip(), self.behind)

    def _lead(self, prompt: Prompt) -> str:
        return self.again if prompt.turns else self.between


_PASSAGE = "\x02passage\x03"
_QUESTION = "\x02question\x03"
_ANSWER, _NEXT, _SYSTEM = "\x02answer\x03", "\x02next\x03", "\x02system\x03"
_BEFORE = "\n"  # joins with nothing
_INSTRUCTION = "Answer briefly and from this passage only."


def fingerprint(tokenizer: AnyTokenizer) -> str:
    """Return a digest that is equal for two tokenizers exactly when they number the same tokens the same way."""
    return fingerprint_of(tokenizer.get_vocab())


def fingerprint_of(vocabulary: dict[str, int]) -> str:
    """Return the fingerprint of a vocabulary, which gives every piece its number."""
    return hashlib.sha256(json.dumps(sorted(vocabulary.items())).encode()).hexdigest()


def size_of(vocabulary: dict[str, int], place: str) -> int:
    """Return the number that all token ids are below. Raises BadConfiguration for more than a distribution can name."""
    size = max(vocabulary.values()) + 1
    if size > VOCABULARY_LIMIT:
        raise BadConfiguration(f"'{place}' has {size} tokens, the limit is {VOCABULARY_LIMIT}", "use another")
    return size


class Worded:
    """The text methods of every model with a tokenizer. Usable from any thread."""

    eos: list[int]
    vocabulary: int

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self.tokenizer = tokenizer
        self._spelling = Spelling(tokenizer)
        self._bytes = TokenBytes(tokenizer)

    @cached_property
    def writes_words(self) -> bool:
        """Tell whether the tokenizer is byte-level, so that there are tokens in words."""
        return is_byte_level(self.tokenizer)

    @cached_property
    def word_tokens(self) -> WordTokens | None:
        """The tokens in words; None where the tokenizer is not byte-level. They take a second to make."""
        return WordTokens(self.tokenizer, self.eos, self.vocabulary) if self.writes_words else None

    def text(self, ids: list[int]) -> str:
        """The text of answer tokens, without special ones."""
        return text_of(self.tokenizer, ids)

    def piece(self, id: int) -> bytes:
        """The bytes of one token, which are its name where it is a special one."""
        return self._bytes.of(id)

    def layout(self, task: Task, system: str = "", *, grounded: bool = True) -> Layout:
        """Return the layout of a passage and a question, after a program's system line where there is one.

        Without `grounded` the question is one that no passage answers.
        """
        return layout_for(self._spelling, task, system, grounded=grounded)

    def continued(self, text: str) -> list[int]:
        """Return the ids of a text that continues another one."""
        return continued_ids(self._spelling, text)

    def prompt(self, text: str, task: Task) -> list[int]:
        """Ids of a whole prompt: a user's turn where the model has a chat template, or else `text` as it stands."""
        return prompt_ids(self._spelling, text, task)


def continued_ids(spelling: Spelling, text: str) -> list[int]:
    """Return the ids of `text` after other text: some tokenizers begin a text with a blank of their own."""
    before, whole = spelling.ids("", _BEFORE, ""), spelling.ids("", _BEFORE + text, "")
    return whole[len(before) :] if whole[: len(before)] == before else spelling.ids("", text, "")


def text_of(tokenizer: AnyTokenizer, ids: list[int]) -> str:
    """The text of `ids` without special tokens, exactly as it was tokenised."""
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def layout_for(spelling: Spelling, task: Task, system: str = "", *, grounded: bool = True) -> Layout:
    """The layout of a passage and a question for the model of `spelling`'s tokenizer."""
    tokenizer, encode = spelling.tokenizer, spelling.ids
    bos, system = _bos(tokenizer), system.strip()
    if task == "complete":
        return Layout("", "\n\n", "", bos, encode)
    if _template(tokenizer) is None:
        before = "\n\n" if system else ""
        return Layout(before, "\n\nQuestion: ", "\nAnswer:", bos, encode, "\nAnswer: ", "\n\nQuestion: ", system=system)
    content = f"{_INSTRUCTION}\n\n{_PASSAGE}\n\n{_QUESTION}" if grounded else f"{_PASSAGE}{_QUESTION}"
    opening, before, between, behind = _single(tokenizer, content, with_system=bool(system))
    answered, again = _several(tokenizer)
    return Layout(before, between, behind, (), encode, answered, again, opening, system)


def _single(tokenizer: AnyTokenizer, content: str, *, with_system: bool) -> tuple[str, str, str, str]:
    """Return the template's text before a system line, before the passage, before the question, and after it.

    A template that knows no system line has it at the beginning of the user's turn.
    """
    if not with_system:
        text, opening = _rendered(tokenizer, [("user", content)]), ""
    else:
        try:
            text = _rendered(tokenizer, [("system", _SYSTEM), ("user", content)])
        except ValueError:
            text = ""
        if _SYSTEM not in text:
            text = _rendered(tokenizer, [("user", f"{_SYSTEM}\n\n{content}")])
        opening, text = text.split(_SYSTEM)
    before, rest = text.split(_PASSAGE)
    between, behind = rest.split(_QUESTION)
    return opening, before, between, behind


def _several(tokenizer: AnyTokenizer) -> tuple[str, str]:
    """The template's text between a question and its answer, and between that and the next question."""
    text = _rendered(tokenizer, [("user", _QUESTION), ("assistant", _ANSWER), ("user", _NEXT)])
    answered, rest = text.split(_QUESTION)[1].split(_ANSWER)
    return answered, rest.split(_NEXT)[0]


def prompt_ids(spelling: Spelling, text: str, task: Task) -> list[int]:
    """A whole prompt from position 0: a user's turn where there is a chat template, or else `text` as it stands."""
    tokenizer = spelling.tokenizer
    if task == "complete" or _template(tokenizer) is None:
        return [*_bos(tokenizer), *spelling.ids("", text, "")]
    before, behind = _rendered(tokenizer, [("user", _QUESTION)]).split(_QUESTION)
    return spelling.ids(before, text, behind)


def _bos(tokenizer: AnyTokenizer) -> tuple[int, ...]:
    """Return the token that a text begins with, where there is one.

    With a chat template it counts only if the tokenizer or the template puts it before a text. Qwen's "bos" ends texts:
    a text behind it costs Qwen2.5-Coder-0.5B up to 0.9 nats a token more.
    """
    if tokenizer.bos_token_id is None:
        return ()
    number = int(tokenizer.bos_token_id)
    if _template(tokenizer) is None:
        return (number,)
    ids = tokenizer(_rendered(tokenizer, [("user", _QUESTION)]), add_special_tokens=True)["input_ids"]
    return (number,) if ids[:1] == [number] else ()


def _rendered(tokenizer: AnyTokenizer, turns: list[tuple[str, str]]) -> str:
    template = _template(tokenizer)
    assert template is not None, "asked for where there is one"
    return rendered(template, tokenizer.special_tokens_map, turns)


def _template(tokenizer: AnyTokenizer) -> str | None:
    """Return the chat template, the default one of several with names; None where there is none."""
    template = tokenizer.chat_template
    return template.get("default") if isinstance(template, dict) else template
