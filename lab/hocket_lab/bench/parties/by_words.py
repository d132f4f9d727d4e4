"""Honest answers of two sides in one process, a word at a time: any two models, by the daemons' own law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hocket_bus.messages import DEFAULT_WEIGHTS, Prompt, Sampling, Weights
from hocket_daemon.aggregation.exchange.parties import Part
from hocket_daemon.aggregation.exchange.sampler import etas
from hocket_daemon.aggregation.exchange.session_terms import Draft
from hocket_daemon.aggregation.exchange.word_exchange import likeliest, speaker
from hocket_daemon.aggregation.settings import COUNTED_TEMPERATURE, AggregationSettings
from hocket_daemon.aggregation.weights.relevance import BY_LIKELIHOOD, REWEIGHED, compared, query, weighed_by
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.runtime.drafts_of import drafts_of, room_of
from hocket_daemon.engine.runtime.own_drafts import OwnDrafts
from hocket_daemon.engine.runtime.sequences import SequenceGroup, at_once, read
from hocket_daemon.engine.sampling.heads import contrast_of
from hocket_daemon.engine.sampling.step_rows import ALL, step_rows
from hocket_daemon.engine.text.word_draw import Proposal
from hocket_daemon.engine.text.words import END, word_of
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from hocket_daemon.serving.search.passage_weights import LEAST, weigh
from hocket_daemon.serving.session_account import SessionAccount
from hocket_lab.bench.parties.parties import Scores


@dataclass
class _Side:
    model: LanguageModel
    texts: Sequence[str]
    group: SequenceGroup
    drafts: OwnDrafts
    account: SessionAccount | None


class ByWords:
    """Sides with a model each, and the scorer of their passages."""

    def __init__(
        self,
        models: Sequence[LanguageModel],
        scores: Scores,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: AggregationSettings | None = None,
        bits: float | None = None,
    ) -> None:
        """Take `weights` as `hocket ask --weights` does.

        With `bits` the first side's words are counted, as with `drafts = "words"`: at most so many of each passage in
        an answer, and 0 for any number.
        """
        self._models = models
        self._scores = scores
        self._weights = weights
        self._settings = settings or AggregationSettings()
        self._bits = bits
        self.disclosed = 0.0  # bits of the passage of which the last answer disclosed most

    def answer(self, question: str, texts: Sequence[Sequence[str]], sampling: Sampling) -> list[bytes]:
        """Return the words of an answer, up to its end or to `max_tokens` words; a side without texts is left out."""
        taking = [at for at, own in enumerate(texts) if own] or [0]
        if self._bits is not None:
            sampling = replace(sampling, temperature=sampling.temperature or COUNTED_TEMPERATURE)
        sides = [self._side(at, question, list(texts[at]), sampling) for at in taking]
        try:
            return self._words(question, sides, sampling)
        finally:
            spent = [bits for side in sides if side.account for bits in side.account.spent.values()]
            self.disclosed = max(spent, default=0.0)
            for side in sides:
                side.group.close()

    def _words(self, question: str, sides: Sequence[_Side], sampling: Sampling) -> list[bytes]:
        numbers = list[int]()
        while len(numbers) < sampling.max_tokens and not (numbers and word_of(numbers[-1]) == END):
            parts = self._parts(question, sides, numbers)
            spoken = likeliest(parts) if sampling.temperature == 0 else self._spoken(sampling, len(numbers), parts)
            assert spoken is not None
            self._settle(sides, sampling, len(numbers), parts)
            numbers.append(spoken)
        return list(map(word_of, numbers))

    def _spoken(self, sampling: Sampling, step: int, parts: list[Part]) -> int:
        draft = speaker(sampling.seed, step, parts).draft
        assert draft is not None
        return draft.token

    def _settle(self, sides: Sequence[_Side], sampling: Sampling, step: int, parts: list[Part]) -> None:
        for at, side in enumerate(sides):
            if side.account is not None:
                side.account.confirm(step, own=speaker(sampling.seed, step, parts).name == str(at))

    def _parts(self, question: str, sides: Sequence[_Side], numbers: list[int]) -> list[Part]:
        weighed = [self._weigh(question, side, numbers) for side in sides]
        proposals = [self._draw(side, numbers, weights) for side, (weights, _) in zip(sides, weighed, strict=True)]
        shares = etas([log for _, log in weighed]) if len(sides) > 1 else [1.0]
        drafts = [Draft(len(numbers), 0, each.word, each, 0.0, 0.0) for each in proposals]
        return [Part(str(at), share, draft) for at, (share, draft) in enumerate(zip(shares, drafts, strict=True))]

    def _draw(self, side: _Side, numbers: list[int], weights: list[float]) -> Proposal:
        draft = side.drafts.begin(numbers)
        while True:
            ids = draft.ids
            contrast = contrast_of(self._settings.contrast, side.model.eos, len(side.texts), len(ids))
            rows = step_rows(weights, contrast, one_by_one=False) if side.account is None else ALL
            heads = draft.known(rows.places or ())
            if heads is None:
                segment = side.group.roll_back(ids, rows.places)
                heads = side.group.take(ids, side.model.read([segment])[0] if segment.rows else None)
            found = draft.add(heads, weights, contrast)
            if found is not None:
                assert isinstance(found.distribution, Proposal)
                return found.distribution

    def _side(self, at: int, question: str, texts: list[str], sampling: Sampling) -> _Side:
        model, account = self._models[at], None
        if self._bits is not None and at == 0:
            account = SessionAccount(DisclosureAccount(None, DisclosureBounds(self._bits)), "cloud")
            account.read(texts)
        reading = read(
            model,
            Prompt(query=question),
            texts,
            task="answer",
            room=room_of("word", sampling),
            likelihood=self._weights in BY_LIKELIHOOD and bool(texts),
            alone=bool(self._settings.contrast) or account is not None,
        )
        group = at_once(model, reading)
        drafts = drafts_of(model, "word", sampling, mass=self._settings.wire_mass, ends=True, account=account)
        return _Side(model, texts, group, drafts, account)

    def _weigh(self, question: str, side: _Side, numbers: list[int]) -> tuple[list[float], float | None]:
        if not side.texts:
            return [], None
        scores = [0.0] * len(side.texts)
        if self._weights != "off":
            by_question = self._scores(question, side.texts)
            text = self._query(question, side, numbers)
            scores = by_question
            if text != question:
                scores = compared(self._weights, self._scores(text, side.texts), by_question)
        least = LEAST if side.account is None else 0.0
        return weigh(scores, self._settings.relevance_temperature, side.group.likelihoods, least=least)

    def _query(self, question: str, side: _Side, numbers: list[int]) -> str:
        if self._weights not in REWEIGHED:
            return question
        length = weighed_by(len(numbers), self._settings.reweigh_every)
        return query(question, side.drafts.text(numbers[:length]))
