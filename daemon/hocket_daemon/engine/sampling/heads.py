"""The likeliest next tokens of a model, the mixing of rows into a side's distribution, and each row's part in it.

A backend names the whole vocabulary where that costs nothing, or as many ids as hold nearly all mass: what it leaves
out is missing from the sum of a row, so that every probability here is the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..segments import Wanted
from .distribution import VOCABULARY_LIMIT, Distribution, truncated

Probabilities: TypeAlias = NDArray[np.floating]
Table: TypeAlias = NDArray[np.float64]  # [tokens, passages], or one row; it sums to 1, and to 0 where it is not known
NO_PROBABILITIES: NDArray[np.float32] = np.zeros(0, np.float32)

PLAUSIBLE = 0.1  # of a row's likeliest id: what is less likely keeps its probability
MASS = 0.999  # of a head, unless it has MAX_IDS ids before
MAX_IDS = 4096
_LEAST = np.float32(1e-30)  # of an allowed id: what a model all but excludes must not be nothing
_FLOOR = np.float32(1 - MASS)  # no id that a head leaves out is likelier: either the rest or 1 / MAX_IDS bounds it


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """The likeliest ids after each of several places.

    `probabilities` [places, k] are those of `ids` [places, k], which ascend in a row as far as its probabilities are
    not 0; the rest of a row is nothing. Without `ids` a column is its id, and none is left out. No id that is left out
    is likelier than one that is not. `given` are the probabilities of the ids that the segment named, one place after
    the other; of a model that cannot tell them there are none.
    """

    probabilities: NDArray[np.float32]
    ids: NDArray[np.int32] | None = None
    given: NDArray[np.float32] = field(default_factory=lambda: NO_PROBABILITIES)

    def __len__(self) -> int:
        return len(self.probabilities)

    def at(self, place: int) -> Heads:
        """Return the heads after one place."""
        here = slice(place, place + 1)
        return Heads(self.probabilities[here], None if self.ids is None else self.ids[here])

    def of_rows(self, places: Sequence[int]) -> Heads:
        """The heads at some places, in that order."""
        chosen = list(places)
        return Heads(self.probabilities[chosen], None if self.ids is None else self.ids[chosen])

    def of(self, token: int, vocabulary: int) -> float:
        """Return the probability of a token after the first place; for one left out, the average of all such."""
        (ids, values), *_ = self._named()
        at = int(ids.searchsorted(token))
        if at < len(ids) and ids[at] == token:
            return float(values[at])
        return max(0.0, 1.0 - float(values.sum(dtype=np.float64))) / max(1, vocabulary - len(ids))

    def of_each(self, at: int, width: int) -> Heads:
        """Return each row's heads after its token `at`; every row has `width` tokens here, one after the other."""
        return Heads(self.probabilities[at::width], None if self.ids is None else self.ids[at::width])

    def among(self, allowed: NDArray[np.int32], mass: float) -> Heads:
        """Return the heads of the `allowed` ids alone, ascending: of each row the likeliest with `mass` of its share.

        With a mass of 1 all of them, in each row. Probabilities stay what they are, so a row sums to its share. Of what
        a head leaves out each id of VOCABULARY_LIMIT counts as an equal part.
        """
        rows = [self._among(place, allowed, mass) for place in range(len(self))]
        most = max(len(ids) for ids, _ in rows)
        ids, probabilities = np.zeros((len(rows), most), np.int32), np.zeros((len(rows), most), np.float32)
        for place, (own, values) in enumerate(rows):
            ids[place, : len(own)], probabilities[place, : len(own)] = own, values
        return Heads(probabilities, ids)

    def _among(self, place: int, allowed: NDArray[np.int32], mass: float) -> tuple[NDArray[np.int32], Probabilities]:
        if self.ids is None:
            found = self.probabilities[place, allowed]
        else:
            ids, values = self.at(place)._named()[0]
            rest = max(0.0, 1.0 - float(values.sum(dtype=np.float64)))
            found = np.full(len(allowed), rest / VOCABULARY_LIMIT, np.float32)
            _, here, there = np.intersect1d(allowed, ids, assume_unique=True, return_indices=True)
            found[here] = values[there]
        found = np.maximum(found, _LEAST)
        if mass >= 1:
            return allowed, found
        places = truncated(found / found.sum(dtype=np.float64), mass)[1]
        return allowed[places], found[places]

    def dense(self, vocabulary: int) -> NDArray[np.float32]:
        """Return the probabilities [places, vocabulary], 0 for what is left out."""
        if self.ids is None:
            return self.probabilities
        table = np.zeros((len(self), vocabulary), np.float32)
        for row, (ids, values) in zip(table, self._named(), strict=True):
            row[ids] = values
        return table

    def aligned(self) -> tuple[NDArray[np.int32] | None, Probabilities]:
        """Return ascending ids, and [places, ids]: 0 where a place leaves an id out. None: a column is its id."""
        if self.ids is None:
            return None, self.probabilities
        named = self._named()
        if len(named) == 1:
            return named[0][0], named[0][1][None]
        ids = np.sort(np.concatenate([ids for ids, _ in named]))
        ids = ids[np.concatenate(([True], ids[1:] != ids[:-1]))]
        table = np.zeros((len(named), len(ids)), np.float32)
        for row, (own, values) in zip(table, named, strict=True):
            row[ids.searchsorted(own)] = values
        return ids, table

    def _named(self) -> list[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Return for each place the ids that are not left out, and their probabilities."""
        assert self.ids is not None
        rows = zip(self.ids, self.probabilities, strict=True)
        return [(ids[:number], values[:number]) for ids, values in rows for number in [np.count_nonzero(values)]]


NO_HEADS = Heads(np.zeros((0, 0), np.float32))


def stacked(parts: Sequence[Heads]) -> Heads:
    """Join heads of one backend into one; the probabilities of given ids are left out."""
    ids = [part.ids for part in parts if part.ids is not None]
    return Heads(np.concatenate([part.probabilities for part in parts]), np.concatenate(ids) if ids else None)


def whole(probabilities: NDArray[np.float32], wanted: Wanted) -> list[Heads]:
    """Return each segment's heads, from the probabilities [places, vocabulary] of all that the pass was asked for."""
    return [
        Heads(_rows(probabilities, heads), given=_given(probabilities, given))
        for heads, given in zip(wanted.heads, wanted.given, strict=True)
    ]


def _given(probabilities: NDArray[np.float32], given: list[tuple[int, int]]) -> NDArray[np.float32]:
    return probabilities[tuple(np.array(given).T)] if given else NO_PROBABILITIES


def _rows(probabilities: NDArray[np.float32], at: list[int]) -> NDArray[np.float32]:
    """Return the rows at these places, not copied where they are neighbours."""
    neighbours = at and at[-1] - at[0] == len(at) - 1
    return probabilities[at[0] : at[-1] + 1] if neighbours else probabilities[at]


@dataclass(frozen=True, slots=True)
class Contrast:
    """The strength with which passages' rows are set against the question's alone, and the ids that end an answer.

    An end is nothing that a passage says: setting it against the question alone would only lengthen answers.
    """

    strength: float
    ends: tuple[int, ...]


def contrast_of(strength: float, ends: Sequence[int], passages: int, step: int) -> Contrast | None:
    """Return the contrast of a step, of strength 0 in the first; None without passages, or where none is wanted.

    The first token says how an answer is worded, and no passage knows that: contrasted, answers began as passages do.
    """
    return Contrast(strength if step else 0.0, tuple(ends)) if strength and passages else None


class Made(NamedTuple):
    """A side's distribution as it travels, and what each row gives to it, [rows, ids]: weight times probability."""

    distribution: Distribution
    parts: Probabilities


def made(heads: Heads, weights: list[float], wire_mass: float, contrast: Contrast | None = None) -> Made:
    """Mix the rows' heads by their weights, which sum to 1 and are empty for a single row.

    With a `contrast` one row more comes last, the question's alone, which has no weight: the others are set against it.
    What the heads leave out is missing from `kept`: at most the weighted sum of what each of them lacks to 1.
    """
    ids, rows, mixed = _mixture(heads, weights, contrast)
    distribution, columns = truncated(mixed, wire_mass, ids)
    parts = rows.take(columns, axis=1)
    return Made(distribution, parts * np.array(weights, np.float32)[:, None] if weights else parts)


@dataclass(frozen=True, slots=True)
class TokenDraft:
    """A side's distribution behind its tokens `ids`, that is to hold `mass`: one step of the model makes it."""

    ids: list[int]
    mass: float
    bound: None = None  # it is not drawn in parts

    def known(self, places: Sequence[int]) -> Heads | None:  # noqa: ARG002 - a step is decoded once
        """Return nothing: no earlier step has told it."""
        return None

    def add(self, heads: Heads, weights: list[float], contrast: Contrast | None) -> Made:
        """Return the distribution."""
        return made_of(heads, weights, self.mass, contrast)


def _mixture(
    heads: Heads, weights: list[float], contrast: Contrast | None
) -> tuple[NDArray[np.int32] | None, Probabilities, Probabilities]:
    """Return ascending ids, None for all, the rows' probabilities [rows, ids] set against the last, and their mean."""
    ids, rows = heads.aligned()
    if contrast is not None:
        rows = contrasted(ids, rows[:-1], rows[-1], contrast)
    return ids, rows, _mixed(ids, rows, weights)


def made_of(heads: Heads, weights: list[float], wire_mass: float, contrast: Contrast | None = None) -> Made:
    """Mix as `made` does, from the heads of those rows alone that are `decoded`; the parts of the others are 0.

    The last of them may be left out where `is_contrasted` says so.
    """
    heavy = [place for place, weight in enumerate(weights) if weight > 0]
    found = made(heads, [weights[place] for place in heavy], wire_mass, _applied(heads, heavy, contrast))
    if not weights:
        return found
    parts = np.zeros((len(weights), found.parts.shape[1]), found.parts.dtype)
    parts[heavy] = found.parts
    return found._replace(parts=parts)


def weighed_rows(
    heads: Heads, weights: list[float], contrast: Contrast | None
) -> tuple[NDArray[np.int32] | None, Probabilities, Probabilities]:
    """Return ascending ids, None for all, the decoded rows' probabilities [rows, ids], and their mixture [ids].

    `heads` are of the rows that `made_of` mixes.
    """
    heavy = [place for place, weight in enumerate(weights) if weight > 0]
    return _mixture(heads, [weights[place] for place in heavy], _applied(heads, heavy, contrast))


def _applied(heads: Heads, heavy: list[int], contrast: Contrast | None) -> Contrast | None:
    """Return the contrast where the row that it is set against was decoded, too."""
    return contrast if len(heads) > len(heavy) else None


def contrasted(
    ids: NDArray[np.int32] | None, rows: Probabilities, alone: Probabilities, contrast: Contrast
) -> Probabilities:
    """Return the rows [rows, ids], each set against `alone` [ids], which has read the question and no passage.

    Context-aware decoding (Shi et al. 2023, arXiv 2305.14739), p^(1+β) / p₀^β, for every passage by itself as PCED has
    it (arXiv 2601.08670), among the plausible ids V = {v : p(v) ≥ PLAUSIBLE · max p} of contrastive decoding (Li et al.
    2022, arXiv 2210.15097). V keeps its mass, and every other id its probability: so a row sums to what it did before,
    and what a head leaves out is not touched. β = 0 is the row itself.
    p₀ counts as _FLOOR where it is less, and V has no id below that: so heads that leave ids out give the same.
    """
    if not contrast.strength:
        return rows
    found, floored = np.array(rows, np.float32), np.maximum(alone, _FLOOR)
    for row, among in zip(found, _plausible(ids, rows, contrast), strict=True):
        own = row[among].astype(np.float64)
        if len(own):
            logs = np.log(own) + contrast.strength * np.log(own / floored[among])
            raised = np.exp(logs - logs.max())
            row[among] = own.sum() / raised.sum() * raised
    return found


def is_contrasted(heads: Heads, contrast: Contrast) -> bool:
    """Tell whether contrast changes any of these rows: V keeps its mass, so a row with one id in V stays as it is."""
    ids, rows = heads.aligned()
    return contrast.strength > 0 and bool((_plausible(ids, rows, contrast).sum(axis=1) > 1).any())


def _plausible(ids: NDArray[np.int32] | None, rows: Probabilities, contrast: Contrast) -> NDArray[np.bool_]:
    """Return V, the plausible ids, of each row: [rows, ids]."""
    ends = list(contrast.ends) if ids is None else np.isin(ids, contrast.ends)
    plausible: NDArray[np.bool_] = rows >= np.maximum(PLAUSIBLE * rows.max(axis=1, keepdims=True), _FLOOR)
    plausible[:, ends] = False
    return plausible


def mix(rows: Probabilities, weights: list[float]) -> Probabilities:
    """Mix [rows, vocabulary] into [vocabulary] by the rows' weights, which sum to 1 and are empty for a single row."""
    mixed = np.array(weights or [1.0], np.float32) @ rows
    return np.asarray(mixed / mixed.sum())


def within(own: Made, token: int) -> Table | None:
    """Return each row's part in its side's probability of `token`; None where the side leaves it out."""
    at = own.distribution.place(token)
    if at is None:
        return None
    parts = own.parts[:, at].astype(np.float64)
    return np.asarray(parts / parts.sum())


def _mixed(ids: NDArray[np.int32] | None, rows: Probabilities, weights: list[float]) -> Probabilities:
    """Mix the rows; divide rounding out where the whole vocabulary is named, as only then the sum must be 1."""
    if ids is None:
        return mix(rows, weights)
    return np.array(weights, np.float32) @ rows if weights else rows[0]
