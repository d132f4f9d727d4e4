"""The synchronous reference: one process, both models, one token after another (DRDG/TW of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from harness import ListRetrieval
from naive_contrast import contrasted
from numpy.typing import NDArray
from simulation import token_of

from exact import exact
from hocket_bus.messages import AggregationOptions, Ask, Passage, Prompt, Search, Task
from hocket_daemon.aggregation.exchange.sampler import eta_device, mix, mixture
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.aggregation.weights import likelihood_ratio as ratio
from hocket_daemon.aggregation.weights.relevance import compared, query, weighed_by
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.reading import FEW
from hocket_daemon.engine.runtime.grammar import Grammars
from hocket_daemon.engine.runtime.likelihood import NO_LIKELIHOODS
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.engine.sampling.drawing import Rule, draw, exponential
from hocket_daemon.engine.sampling.heads import mix as mix_rows
from hocket_daemon.serving.search.follow_up import Found, search_texts
from hocket_daemon.serving.search.passage_weights import explained, weigh
from hocket_lab.forcing import Forced, read_at_once, rows_behind
from hocket_retrieval.text.heads import headed

DEFAULTS = AggregationSettings()
TIE = 1e-4  # a margin below it


@dataclass(frozen=True)
class Expected:
    """The reference's ids, and for each step how far the winner of the race was ahead (relative)."""

    ids: list[int]
    margins: list[float]

    def differs_by_a_tie(self, ids: list[int]) -> bool:
        """Tell whether ids differ from the reference's; fail where the first that does is no near-tie."""
        differing = [at for at, each in enumerate(zip(ids, self.ids, strict=False)) if len({*each}) > 1]
        if differing:
            assert self.margins[differing[0]] < TIE, f"step {differing[0]} differs"
        else:
            assert ids == self.ids
        return bool(differing)


class Reference:
    """Answers an Ask as the pair must."""

    def __init__(
        self, models: dict[str, Path], scorer: str = "list", contrast: float = 0.0, *, reads_turns: bool = True
    ) -> None:
        self._reads_turns = reads_turns
        self._scorer = scorer
        self._contrast = contrast
        self._teachers: dict[str, Forced] = {}
        self._surprises: dict[tuple[str, Task, str, str], list[float]] = {}  # a pass each, and asked for at every step
        self._models = {
            side: TransformersModel(exact(name=str(models[side])), side)  # type: ignore[arg-type]
            for side in ("device", "cloud")
        }
        self._grammars = Grammars(self._models["device"])

    def answer(self, ask: Ask, solo: frozenset[int] = frozenset()) -> Expected:
        with self._read(ask) as (readings, found):
            return self._generate(ask, readings, found, solo)

    def shares(self, ask: Ask, ids: list[int], solo: frozenset[int]) -> list[dict[str, float]]:
        """For each of these tokens every passage's part in its probability, by document."""
        with self._read(ask) as (readings, found):
            return [self._shares_of(ask, ids, step, readings, found, alone=step in solo) for step in range(len(ids))]

    def logprobs(self, ask: Ask, ids: list[int], solo: frozenset[int]) -> list[dict[int, float]]:
        """For each of these tokens the log-probabilities of all ids in its place, before temperature and top-p."""
        steps = []
        with self._read(ask) as (readings, found):
            for step in range(len(ids)):
                (device, cloud), log_h = self._laws(ask, ids[:step], readings, found)
                mixed = (device.ids, device.probabilities) if step in solo else mix(device, cloud, eta_device(*log_h))
                steps.append({int(id): float(np.log(p)) for id, p in zip(*mixed, strict=True)})
        return steps

    @contextmanager
    def _read(self, ask: Ask) -> Iterator[tuple[dict[str, SequenceGroup], dict[str, list[Passage]]]]:
        readings, found = {}, {}
        for side, model in self._models.items():
            found[side] = self._found(ask, side).passages.passages
            texts = list(map(headed, found[side]))
            room = ask.sampling.max_tokens
            readings[side] = read_at_once(
                model,
                ask.prompt.query,
                texts,
                task=ask.task,
                room=room,
                alone=bool(self._contrast),
                turns=self._as_read(ask.prompt).turns,
            )
        yield readings, found
        for reading in readings.values():
            reading.close()

    def _as_read(self, prompt: Prompt) -> Prompt:
        return prompt if self._reads_turns else msgspec.structs.replace(prompt, turns=[])

    def _found(self, ask: Ask, side: str) -> Found:
        retrieval = ListRetrieval.__new__(ListRetrieval)
        retrieval.side, retrieval.documents, retrieval.scorers = side, 5, [self._scorer]
        k, texts = FEW if ask.documents is None else ask.documents, search_texts(ask.prompt)
        answer = retrieval.answer(Search(request=bytes(16), query=texts[0], k=k, others=texts[1:]))
        return Found(texts[answer.form], answer)

    def _shares_of(
        self,
        ask: Ask,
        ids: list[int],
        step: int,
        readings: dict[str, SequenceGroup],
        found: dict[str, list[Passage]],
        *,
        alone: bool,
    ) -> dict[str, float]:
        weights = self._weighed(ask, ids[:step], found)
        eta = 1.0 if alone else eta_device(weights["device"][1], weights["cloud"][1])
        parts = {}
        for side, by in (("device", eta), ("cloud", 1 - eta)):
            rows = self._rows(ask, readings[side], ids[:step])
            whole = truncate(mix_rows(rows, weights[side][0]), DEFAULTS.wire_mass)
            posterior = np.array(weights[side][0]) * [row[ids[step]] for row in rows]
            said = by * float(whole.probabilities[whole.ids == ids[step]].sum())
            for passage, share in zip(found[side], posterior / posterior.sum(), strict=True):
                parts[passage.document] = said * float(share)
        return {name: part / sum(parts.values()) for name, part in parts.items()}

    def _generate(
        self,
        ask: Ask,
        readings: dict[str, SequenceGroup],
        found: dict[str, list[Passage]],
        solo: frozenset[int],
    ) -> Expected:
        sampling, eos = ask.sampling, [] if ask.ignore_eos else self._models["device"].eos
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        ids: list[int] = []
        margins: list[float] = []
        while len(ids) < sampling.max_tokens and not (ids and ids[-1] in eos):
            (device, cloud), log_h = self._laws(ask, ids, readings, found)
            step = len(ids)
            if sampling.grammar:
                eta = eta_device(*log_h)
                mixed = mixture([(eta * device.kept, device), ((1 - eta) * cloud.kept, cloud)])
                margins.append(margin(rule, step, *mixed))
                ids.append(draw(rule, step, *mixed))
                continue
            margins.append(margin(rule, step, *mix(device, cloud, eta_device(*log_h))))
            ids.append(token_of(_options(ask).method, rule, step, device, cloud, log_h, alone=step in solo))
        return Expected(ids, margins)

    def _laws(
        self, ask: Ask, ids: list[int], readings: dict[str, SequenceGroup], found: dict[str, list[Passage]]
    ) -> tuple[list[Distribution], tuple[float | None, float | None]]:
        """Of device and cloud behind `ids`: their distributions as they travel, and log h."""
        weights = self._weighed(ask, ids, found)
        laws = []
        for side in ("device", "cloud"):
            rows, by = self._rows(ask, readings[side], ids), weights[side][0]
            if not ask.sampling.grammar:
                laws.append(truncate(mix_rows(rows, by), DEFAULTS.wire_mass))
                continue
            allowed = self._allowed(ask.sampling.grammar, ids)
            few = np.array([likeliest_of(row[allowed], DEFAULTS.wire_mass) for row in rows], np.float32)
            mixed = np.array(by, np.float32) @ few
            laws.append(truncate(mixed[mixed > 0], DEFAULTS.wire_mass, allowed[mixed > 0]))
        return laws, (weights["device"][1], weights["cloud"][1])

    def _allowed(self, grammar: str, ids: list[int]) -> NDArray[np.int32]:
        """The ids that a grammar allows behind `ids`, by a matcher that has read nothing else."""
        fresh = self._grammars.of(grammar)
        assert fresh is not None
        return fresh.allowed(ids)

    def _rows(self, ask: Ask, group: SequenceGroup, ids: list[int]) -> NDArray[np.floating]:
        """What each passage's row says behind `ids`, [passages, vocabulary]."""
        rows = rows_behind(group, ids)
        if not self._contrast:
            return rows
        if not ids:  # the first token says how an answer is worded
            return rows[:-1]
        ends = [] if ask.ignore_eos else group.model.eos
        found = [contrasted(row, rows[-1], self._contrast, ends) for row in rows[:-1]]
        return np.array(found, np.float32)

    def _weighed(
        self, ask: Ask, ids: list[int], found: dict[str, list[Passage]]
    ) -> dict[str, tuple[list[float], float | None]]:
        """Of either side. The device's log h has what its passages explain of the question beyond the cloud's."""
        weights = {side: self._weigh(ask, ids, found[side], side) for side in ("device", "cloud")}
        shares, log_h = weights["device"]
        if _options(ask).weights == "likelihood" and log_h is not None and weights["cloud"][1] is not None:
            told = [ratio.steps_of(explained(self._received(ask, found[side], side))) for side in ("device", "cloud")]
            weights["device"] = shares, log_h + ratio.likelihood_ratio(*told)
        return weights

    def _weigh(self, ask: Ask, ids: list[int], found: list[Passage], side: str) -> tuple[list[float], float | None]:
        """The weights of the step behind `ids`."""
        weights = _options(ask).weights
        length = weighed_by(len(ids), DEFAULTS.reweigh_every) if weights in ("dynamic", "likelihood") else 0
        scores = [0.0 if weights == "off" else passage.score for passage in found]
        if length:
            asked = self._found(ask, side).text
            text = query(asked, self._models["device"].text(ids[:length]))
            if text != asked:  # those scores came with the passages
                now = [ListRetrieval.score(None, text, passage.document, self._scorer) for passage in found]  # type: ignore[arg-type]
                scores = compared(weights, now, scores)
        heard = self._received(ask, found, side) if weights == "likelihood" else NO_LIKELIHOODS
        return weigh(scores, DEFAULTS.relevance_temperature, heard)

    def _received(self, ask: Ask, found: list[Passage], side: str) -> NDArray[np.float64]:
        prompt = self._as_read(ask.prompt)
        keys = [(repr(prompt), ask.task, headed(passage), side) for passage in found]
        for key in keys:
            if key not in self._surprises:
                self._surprises[key] = self._surprise(prompt, *key[1:])
        return np.array([self._surprises[key] for key in keys])

    def _surprise(self, prompt: Prompt, task: Task, passage: str, side: str) -> list[float]:
        """The logs of the question's tokens behind a passage, by teacher forcing and without slots."""
        model = self._models[side]
        layout = model.layout(task)
        query, own = layout.question(prompt), layout.own(prompt)
        tokens = [*layout.document(passage), *query]
        said = self._forced(side).score(tokens, len(query))
        return [min(0.0, float(np.log(max(said[at][query[at]], 1e-12)))) for at in own]

    def _forced(self, side: str) -> Forced:
        if side not in self._teachers:
            self._teachers[side] = Forced(self._models[side])
        return self._teachers[side]


def likeliest_of(row: NDArray[np.floating], mass: float) -> NDArray[np.floating]:
    """A row's likeliest values, as few as hold `mass` of its sum, and 0 for the others."""
    falling = np.argsort(-row, kind="stable")
    number = int(np.cumsum(row[falling].astype(np.float64) / row.sum(dtype=np.float64)).searchsorted(mass)) + 1
    found = np.zeros_like(row)
    found[falling[:number]] = row[falling[:number]]
    return found


def _options(ask: Ask) -> AggregationOptions:
    return ask.options or AggregationOptions()


def margin(rule: Rule, step: int, ids: np.ndarray, weights: np.ndarray) -> float:
    """Relative distance of the two best times of the race (temperature 1) or of the two largest weights (greedy)."""
    if len(ids) < 2:
        return 1.0
    if rule.temperature == 0:
        best, second = np.sort(weights)[::-1][:2]
        return float((best - second) / best)
    times = exponential(rule.seed, step, ids) / np.maximum(weights ** (1 / rule.temperature), 1e-300)
    best, second = np.sort(times)[:2]
    return float((second - best) / second)
