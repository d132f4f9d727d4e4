"""A cloud and devices of a group whose documents are lists of words, and the reference for their answers."""

from __future__ import annotations

from pathlib import Path

from family import Family
from harness import ListRetrieval, Pair
from reference import DEFAULTS, Reference

from exact import exact
from hocket_bus.messages import Ask
from hocket_daemon.aggregation.exchange.sampler import etas, mixture
from hocket_daemon.aggregation.weights import likelihood_ratio as ratio
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule, draw
from hocket_daemon.engine.sampling.heads import mix as mix_rows
from hocket_daemon.serving.search.passage_weights import explained

LEADER = "device"


class PeerGroup(Family):
    """Each machine finds passages of its own for every question."""

    def start_retrieval(self, made: Pair, side: str) -> None:
        """Under the device's name; the asked one is the device."""
        name = made.folder.name if made.folder.name != "anna" else LEADER
        self.stack.callback(ListRetrieval(made.endpoint(f"{side}-retrieval"), name).close)


class GroupReference(Reference):
    """One process that holds all models and documents, one token after another."""

    def __init__(self, models: dict[str, Path], names: list[str]) -> None:
        """`names` are the members; the asked device is not among them."""
        super().__init__(models)
        for name in names:
            if name not in self._models:
                self._models[name] = TransformersModel(exact(name=str(models["device"])), "device")

    def group_answer(self, ask: Ask, roster: list[list[str]], most_say: float) -> list[int]:
        """The ids, relative to who took part in each step."""
        sampling, eos = ask.sampling, [] if ask.ignore_eos else self._models[LEADER].eos
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        ids: list[int] = []
        with self._read(ask) as (readings, found):
            while len(ids) < sampling.max_tokens and not (ids and ids[-1] in eos):
                names = [LEADER, *sorted(roster[len(ids)])]
                weights = [self._weigh(ask, ids, found[name], name) for name in names]
                told = [ratio.steps_of(explained(self._received(ask, found[name], name))) for name in names]
                more = ratio.advantages(told) if ask.options.weights == "likelihood" else [0.0] * len(names)  # type: ignore[union-attr]
                logs = [(log_h or 0.0) + by for (_, log_h), by in zip(weights, more, strict=True)]
                shares = etas(logs, most_say if len(names) > 2 else 1.0)
                laws = [
                    truncate(mix_rows(self._rows(ask, readings[name], ids), own), DEFAULTS.wire_mass)
                    for name, (own, _) in zip(names, weights, strict=True)
                ]
                ids.append(draw(rule, len(ids), *mixture(list(zip(shares, laws, strict=True)))))
        return ids
