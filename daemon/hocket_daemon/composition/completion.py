"""Greedy decoding along a row: proposed tokens are verified several a pass, and typed letters are spelled first.

Law: the tokens are those of plain greedy decoding from a fresh row, whatever was proposed and whatever the row held.
Proposed are what followed like words elsewhere (Proposals), and the paths that were decoded before (PathCache).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket_bus.common_prefix import common_prefix_length
from hocket_retrieval.text.chunking import sentences

from ..engine.language_model import LanguageModel
from ..engine.preemption import Preempted
from ..engine.runtime.lookup import Lookup
from ..engine.runtime.sequences import Prefill
from ..engine.segments import Segment
from .reference import Reference
from .window import HALF, Ids, TokenTexts, Window

LETTER = 8.0  # times, by which a typed letter makes unlikelier what is not known to fit it
COPIED = 100.0  # times, by which a token is likelier where it copies a value of the one sentence that can be meant
RIVALS = 32  # tokens at most that are kept beside a chosen one
RARE = 0.002  # below which none is
_LINE = re.compile(r"[\r\n]")
_WORD = re.compile(r"\w+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n])[\s\"'“„(]*$")
_BEFORE = 200  # characters before a suggestion that tell whether it begins within a word, or a sentence


Rivals = tuple[tuple[int, float], ...]  # tokens that might have stood in another one's place, and how likely


@dataclass(frozen=True, slots=True)
class Path:
    """Decoded `tokens` after a window: its typed letters first, then the continuation; `ended` where the text ends.

    `chances` are the probabilities of these tokens, whatever letters they were bound to, and `rivals` those of others.

    Law: greedy decoding bound to letters that go on along the path gives its tokens, too: whatever fits the longer
    letters fits the shorter ones, so the likeliest of more is the likeliest of fewer that it is among.
    """

    window: Window
    tokens: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()
    ended: bool = False
    rivals: tuple[Rivals, ...] = ()

    def text(self, token_texts: TokenTexts) -> str:
        """Return what the tokens add to the window's text."""
        return token_texts.text(self.tokens)

    def spelling(self, token_texts: TokenTexts) -> int:
        """Return how many of the tokens spell nothing but typed letters."""
        length = 0
        for count, token in enumerate(self.tokens):
            length += len(token_texts.of(token))
            if length > len(self.window.typed):
                return count
        return len(self.tokens)

    def along(self, window: Window, token_texts: TokenTexts) -> Path | None:
        """Return the same path from a later window; None where that is not on it, or is tokenised otherwise."""
        written = window.text.removeprefix(self.window.text)
        if len(self.window.text) + len(written) != len(window.text):
            return None
        count = len(window.ids) - len(self.window.ids)
        if not 0 <= count <= len(self.tokens) or window.ids != [*self.window.ids, *self.tokens[:count]]:
            return None
        if len(written) + len(window.typed) < len(self.window.typed):
            return None
        rest = Path(window, self.tokens[count:], self.chances[count:], self.ended, self.rivals[count:])
        return rest if rest.tokens and rest.text(token_texts).startswith(window.typed) else None

    def suggested(self, token_texts: TokenTexts, maximum: int, minimum: float = 0.0) -> str | None:
        """Return the text to the end of the line or sentence, or of `maximum` tokens beyond typed letters.

        It ends sooner, with a whole word, where all of it is right with a chance of less than `minimum`. None while it
        is not known.
        """
        spelled = self.spelling(token_texts)
        length, typed = spelled + maximum, len(self.window.typed)
        sure = self._sure(spelled, token_texts, minimum) if minimum else len(self.tokens)
        text = token_texts.text(self.tokens[:length])[typed:].rstrip(HALF)
        border = _border(text)
        whole = text if border is None else text[:border]
        if sure < min(length, len(self.tokens)):
            return _whole_words(whole, len(token_texts.text(self.tokens[:sure])) - typed)
        return whole if border is not None or self.ended or len(self.tokens) >= length else None

    def copied(self, start: int, token_texts: TokenTexts) -> float:
        """Return how likely the typed letters from `start` on are, as a copy of the one sentence that can be meant."""
        chance, length = 1.0, 0
        for token, each in zip(self.tokens, self.chances, strict=True):
            length += len(token_texts.of(token))
            if length > start:
                chance *= COPIED * each / (COPIED * each + 1.0 - each)
            if length >= len(self.window.typed):
                break
        return chance

    def _sure(self, spelled: int, token_texts: TokenTexts, minimum: float) -> int:
        """Return how many of the tokens are together likelier than `minimum`, among all that fit the typed letters."""
        chance, left = 1.0, self.window.typed
        for at, token in enumerate(self.tokens):
            chance *= self._chance(at, left, token_texts)
            left = left[len(token_texts.of(token)) :]
            if at >= spelled and chance < minimum:
                return at
        return len(self.tokens)

    def _chance(self, at: int, typed: str, token_texts: TokenTexts) -> float:
        """Return the chance of a token, given the letters that it and those after it spell.

        It is taken among its rivals that fit these letters, and a share of the tokens that are not stored, which each
        letter makes smaller.
        """
        chance, rivals = self.chances[at], self.rivals[at] if self.rivals else ()
        if not typed:
            return chance
        unknown = max(0.0, 1.0 - chance - sum(each for _, each in rivals))
        fitting = sum(each for token, each in rivals if _fits(token_texts.of(token), typed))
        return chance / max(chance + fitting + unknown / LETTER ** len(typed), 1e-9)


def _fits(text: str, typed: str) -> bool:
    return bool(text) and (text.startswith(typed) or typed.startswith(text))


def _whole_words(text: str, end: int) -> str:
    """Return as much of a text up to `end` as ends with a word, or with what follows one."""
    if end >= len(text):
        return text
    cut = max(0, end)
    while cut and text[cut - 1].isalnum() and text[cut].isalnum():
        cut -= 1
    return text[:cut].rstrip(" ")


def _border(text: str) -> int | None:
    """Return where the first line or sentence ends for certain, as something follows it; None where none does."""
    line = _LINE.search(text)
    ends = [] if line is None else [line.start()]
    ends += [end for _, end in sentences(text) if text[:end].strip() and text[end:].strip()]
    return min(ends, default=None)


Supports = Callable[[str, str], bool]  # whether a number may stand behind a text


def as_known(
    suggestion: str, written: str, known: str, *, names: bool = True, supports: Supports = lambda *_: True
) -> str:
    """Return a suggestion up to the first number, or name, that is not in what is `known`; `written` precedes it.

    A name is a word with a capital letter that does not begin a sentence; `names` is false for a language that writes
    other words so, too. `supports` tells whether a known number may follow, that is, does not belong to another fact.
    """
    before = written[-_BEFORE:]
    text = before + suggestion
    for word in _WORD.finditer(text):
        if word.end() <= len(before) or not _is_telling(word[0], text[: word.start()], names=names):
            continue
        is_known = re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", known, re.IGNORECASE) is not None
        if not is_known or (_has_digit(word[0]) and not supports(word[0], written[:-_BEFORE] + text[: word.start()])):
            return suggestion[: max(0, word.start() - len(before))].rstrip(" ")
    return suggestion


def _is_telling(word: str, before: str, *, names: bool) -> bool:
    if _has_digit(word):
        return True
    return names and word != word.lower() and not (word[1:].islower() and _SENTENCE_START.search(before))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


MAX_PROPOSED = 15  # tokens that are proposed at once: a pass of 16 takes little longer than one of a single token
DEPTH = 4  # tokens before a place by which it is compared
WORTH = (0, 2, 6, MAX_PROPOSED, MAX_PROPOSED)  # tokens that are proposed where so many before a place are alike
TRIED = 8  # places that are spelled out against what is typed


class Proposals(Lookup):
    """The tokens that may follow the cursor, by what followed like words elsewhere."""

    def propose(self, before: Sequence[int], typed: str, token_texts: TokenTexts) -> list[int]:
        """Return at most MAX_PROPOSED tokens that followed the end of `before` elsewhere; they spell `typed` first."""
        depth = self.depth(before, DEPTH)
        if typed:
            fits = np.isin(self.ids, token_texts.fitting(typed))
            found = (self.following(place, MAX_PROPOSED) for place in _best(np.where(fits, depth + 1, 0)))
            return next((ids for ids in found if _spells(ids, typed, token_texts)), [])
        places = _best(depth)
        return self.following(places[0], WORTH[int(depth[places[0]])]) if places else []


def _best(worth: Ids) -> list[int]:
    """Return the places that are worth most, best first; of equal ones the last first."""
    order = np.argsort(worth, kind="stable")[::-1][:TRIED]
    return [int(place) for place in order if worth[place] > 0]


def _spells(ids: list[int], typed: str, token_texts: TokenTexts) -> bool:
    text = token_texts.text(ids)
    return text.startswith(typed) or (bool(text) and typed.startswith(text))


MAX_PATHS = 256  # paths
LATEST = 4  # of them that what is typed may lie on
LATE = 128  # of them that proposals are taken from


class PathCache:
    """The paths decoded after one reference."""

    def __init__(self, token_texts: TokenTexts) -> None:
        self._token_texts = token_texts
        self._paths: dict[tuple[str, str], Path] = {}
        self._reference: Reference | None = None
        self._earlier: list[Path] = []

    def late(self) -> list[Path]:
        """Return the paths that were stored last, the latest at the end: of this reference or of earlier ones."""
        return [*self._earlier, *self._paths.values()][-LATE:]

    def put(self, reference: Reference, path: Path) -> None:
        """Store a path, unless a longer one is here."""
        self._begin(reference)
        place = path.window.text, path.window.typed
        known = self._paths.pop(place, None)
        self._paths[place] = known if known is not None and len(known.tokens) > len(path.tokens) else path
        if len(self._paths) > MAX_PATHS:
            del self._paths[next(iter(self._paths))]

    def find(self, reference: Reference, window: Window) -> Path | None:
        """Return a path from this window, as far as one is known."""
        self._begin(reference)
        known = self._paths.get((window.text, window.typed))
        if known is not None:
            return known
        latest = list(self._paths.values())[-LATEST:]
        along = (path.along(window, self._token_texts) for path in reversed(latest))
        return next((path for path in along if path is not None), None)

    def _begin(self, reference: Reference) -> None:
        if reference is not self._reference:
            self._earlier = self.late()
            self._reference, self._paths = reference, {}


PART = 32  # tokens of a prompt that a pass reads, so that nobody who types waits long
VERIFIED = 8  # unread tokens that are read in one pass with what is proposed behind them


class Row:
    """A row of a model's memory, and the ids whose keys and values it holds. For the compute thread alone."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._row: int | None = None
        self._held: list[int] = []
        self.passes = 0  # made so far

    def begin(self, ids: Sequence[int]) -> list[int]:
        """Roll back to what the row shares with `ids`; return the missing ones, at least the last. Raises Busy."""
        if self._row is None:
            (self._row,) = self._model.slots.take(1)
        common = common_prefix_length(self._held, ids[:-1])
        self._held = self._held[:common]
        self._model.slots.roll_back(self._row, common)
        return list(ids[common:])

    def append(self, ids: list[int], *, every: bool = False) -> Prefill[NDArray[np.float32]]:
        """Read `ids` in one pass; return probabilities [places, vocabulary] after the last, or after every one."""
        assert self._row is not None
        behind = yield Segment([self._row], [ids], every)
        self._held += ids
        self.passes += 1
        return behind.dense(self._model.vocabulary)

    def close(self) -> None:
        """Give the row back."""
        if self._row is not None:
            self._model.slots.give_back([self._row])
            self._row = None


def read(row: Row, ids: Sequence[int], leave: int = 0) -> Prefill[None]:
    """Read what the row lacks of `ids`, in short parts, except the last `leave`."""
    missing = row.begin(ids)
    until = len(missing) - leave
    for first in range(0, until, PART):
        yield from row.append(missing[first : min(first + PART, until)])


def complete(
    row: Row,
    reference: Sequence[int],
    path: Path,
    token_texts: TokenTexts,
    *,
    eos: Sequence[int],
    proposals: Proposals,
    enough: Callable[[Path], bool],
) -> Prefill[Path]:
    """Extend `path`, whose window follows `reference`, until it is `enough` or ends.

    When it is interrupted, the path is returned as far as it has come: further typing along it need not begin again.
    """
    prompt = [*reference, *path.window.ids]
    while not path.ended and not enough(path):
        ids = [*prompt, *path.tokens]
        try:
            yield from read(row, ids, leave=VERIFIED)
            missing = row.begin(ids)
            proposed = proposals.propose(ids, _untyped(path, token_texts), token_texts)
            behind = yield from row.append([*missing, *proposed], every=True)
        except Preempted:
            break
        path = _verified(path, behind[len(missing) - 1 :], proposed, token_texts, eos=eos, enough=enough)
    return path


def _verified(
    path: Path,
    behind: NDArray[np.float32],
    proposed: list[int],
    token_texts: TokenTexts,
    *,
    eos: Sequence[int],
    enough: Callable[[Path], bool],
) -> Path:
    """Return the path with the likeliest next token, and further ones as long as they are the proposed ones."""
    for at, probabilities in enumerate(behind):
        token = _likeliest(probabilities, _untyped(path, token_texts), token_texts)
        if token in eos:
            return replace(path, ended=True)
        path = replace(
            path,
            tokens=(*path.tokens, token),
            chances=(*path.chances, float(probabilities[token])),
            rivals=(*path.rivals, _rivals(probabilities, token)),
        )
        if at == len(proposed) or token != proposed[at] or enough(path):
            break
    return path


def _likeliest(probabilities: NDArray[np.float32], typed: str, token_texts: TokenTexts) -> int:
    if not typed:
        return int(probabilities.argmax())
    fitting = token_texts.fitting(typed)
    return int(fitting[probabilities[fitting].argmax()])


def _rivals(probabilities: NDArray[np.float32], chosen: int) -> Rivals:
    """Return the likeliest tokens beside the chosen one, however unlikely that is."""
    likely = np.flatnonzero(probabilities >= RARE)
    order = likely[np.argsort(-probabilities[likely], kind="stable")][: RIVALS + 1]
    return tuple((int(token), float(probabilities[token])) for token in order if token != chosen)[:RIVALS]


def _untyped(path: Path, token_texts: TokenTexts) -> str:
    """Return the typed letters that are still to be spelled."""
    spelled = sum(len(token_texts.of(token)) for token in path.tokens[: len(path.window.typed)])
    return path.window.typed[spelled:]
