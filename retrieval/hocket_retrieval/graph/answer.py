"""Requests to an engine for a chunk's entities, and their answers, of which only names in the chunk are believed.

Nothing here waits or keeps state. Whatever else the answer says, of the names or beside them, is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from hocket_bus.web.dialect import PLAIN, Dialect

from ..text.lexical import is_spaced
from ..text.phrases import (
    MAX_MENTIONS,
    MAX_NAME_WORDS,
    MAX_TERM_WORDS,
    WORD,
    is_long_enough,
    is_name,
    is_specific,
    most_specific,
)
from .reading import Reading

MAX_TOKENS = 256  # MAX_MENTIONS names, and as many pairs of them
PROMPT = f"""\
List what the passage is about. Answer with one JSON object and nothing else:
{{"entities": ["..."], "relations": [["...", "..."]]}}
"entities" are at most {MAX_MENTIONS} people, organisations, places, things and topics, each in one to three words and \
spelled as in the passage.
"relations" are pairs of these entities that the passage relates to each other."""
EXAMPLE = "Ms Lind joined the Orlan Museum in 1998. She restored its tidal clock with Peer Aas, who lives on Hove."
EXAMPLE_ANSWER = """\
{"entities": ["Lind", "Orlan Museum", "tidal clock", "Peer Aas", "Hove"], "relations": [["Lind", "Orlan Museum"], \
["Lind", "tidal clock"], ["Lind", "Peer Aas"], ["Peer Aas", "Hove"]]}"""  # small models copy the passage without one
_TEXT_PARTS = frozenset(("text", "output_text"))
_MAX_BRACES = 1_000  # at which an object is looked for
_CUT = f"cut at {MAX_TOKENS} tokens (length), perhaps within thought"
_ENTITY = re.compile(rf"{WORD}(?: {WORD})*")
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?…:•]\s*|\n)$")


class BadAnswer(ValueError):
    """An answer that is not of the requested form, or names nothing in the chunk; its text says why, where known."""


class _Message(Struct, frozen=True):
    content: Any = None  # a text, or a list of parts
    reasoning_content: Any = None  # where some servers put all that a model says that was asked not to think


class _Choice(Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Completion(Struct, frozen=True):
    choices: list[_Choice]


class _Reply(Struct, frozen=True):
    entities: list[str]
    relations: list[list[str]] = []


def body_of(text: str, model: str, dialect: Dialect = PLAIN) -> bytes:
    """Return the JSON that requests the entities and relations of a chunk, without thinking aloud."""
    asked: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": EXAMPLE},
            {"role": "assistant", "content": EXAMPLE_ANSWER},
            {"role": "user", "content": text},
        ],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        "stream": False,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    return msgspec.json.encode(dialect.spoken(asked))


def reading_of(answer: bytes, text: str) -> Reading:
    """Return the entities and relations in the answer to `body_of`, as far as the chunk has them. Raises BadAnswer."""
    reply = _parsed(answer)
    spelled = {name: found for name in reply.entities if (found := _spelled(name, text))}
    mentions = most_specific(spelled.values())
    if not mentions:
        raise BadAnswer("it names nothing from the passage")
    return Reading(mentions, _related(reply.relations, spelled, frozenset(mentions)))


def _parsed(answer: bytes) -> _Reply:
    """Return the last object of the requested form in an answer, whatever thought or text is around it.

    Raises BadAnswer.
    """
    try:
        choice = msgspec.json.decode(answer, type=_Completion).choices[0]
    except (ValueError, IndexError, RecursionError):  # those of msgspec are ValueErrors
        raise BadAnswer("no completion") from None
    is_cut = choice.finish_reason == "length"
    said = _text_of(choice.message.content) or ("" if is_cut else _text_of(choice.message.reasoning_content))
    replies = list(_replies(said.rpartition("</think>")[2]))
    if not replies:
        raise BadAnswer(_CUT if is_cut else "no JSON")
    return replies[-1]


def _text_of(content: object) -> str:
    """Return the text of a content: a string, or the text parts of a list, without those of thought."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _replies(said: str) -> Iterator[_Reply]:
    """Yield every object of the requested form, also those within other objects."""
    at, decoder = 0, json.JSONDecoder()
    for _ in range(_MAX_BRACES):
        at = said.find("{", at)
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(said, at)
            yield msgspec.convert(found, _Reply)
            at = end
        except (ValueError, RecursionError):
            at += 1


def _related(
    relations: Iterable[list[str]], spelled: dict[str, str], mentions: frozenset[str]
) -> list[tuple[str, str]]:
    """Pairs of two different mentions, each once."""
    found = set()
    for pair in relations:
        ends = sorted({spelled[name] for name in pair if name in spelled} & mentions)
        if len(pair) == len(ends) == 2:
            found.add((ends[0], ends[1]))
    return sorted(found)


def _spelled(name: str, text: str) -> str | None:
    """Return an entity as the chunk spells it; None if it is not there as whole words, or is too long or too short.

    A capital that only begins a sentence makes no name.
    """
    entity = " ".join(_without_small_words(name.split()))
    if not _ENTITY.fullmatch(entity):
        return None
    pattern = r"\s+".join(re.escape(word) for word in entity.split())
    before, behind = r"(?<!\w)" * is_spaced(entity[0]), r"(?!\w)" * is_spaced(entity[-1])
    found = list(re.finditer(before + pattern + behind, text, re.IGNORECASE))
    if not found:
        return None
    inside = [each for each in found if not _OPENS_SENTENCE.search(text, 0, each.start())]
    spellings = [" ".join(each.group().split()) for each in inside or found]
    lower = spellings[0].lower()
    best = lower if lower in spellings or (not inside and spellings[0][1:] == lower[1:]) else spellings[0]
    return best if _is_bounded(best) else None


def _without_small_words(words: list[str]) -> list[str]:
    """Return the words between small words at both ends, without punctuation after the last one."""
    while words and not is_specific(_bare(words[0]).lower()):
        words = words[1:]
    while words and not is_specific(_bare(words[-1]).lower()):
        words = words[:-1]
    return [*words[:-1], _bare(words[-1])] if words else []


def _bare(word: str) -> str:
    word = word.rstrip(".,;'’-")
    return word[:-2] if word[-2:] in {"'s", "’s"} else word


def _is_bounded(mention: str) -> bool:
    words = mention.split()
    limit = MAX_NAME_WORDS if is_name(mention) else MAX_TERM_WORDS
    return len(words) <= limit and is_long_enough(mention)
