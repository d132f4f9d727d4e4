"""The synchronous reference for words: one process, both models, one word after another."""

from __future__ import annotations

from dataclasses import dataclass

from reference import DEFAULTS, Reference

from hocket_bus.messages import Ask
from hocket_daemon.aggregation.exchange.sampler import eta_device
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.drawing import Rule, coin
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.text.word_draw import Proposal, WordDraw
from hocket_daemon.engine.text.words import END, word_of
from hocket_lab.forcing import rows_behind

_STEPS = 1 << 24


@dataclass(frozen=True)
class Written:
    """The words of an answer as far as it has tokens, those tokens of the device, and how far each word was ahead."""

    words: list[bytes]
    ids: list[int]
    margins: list[float]


class WordReference(Reference):
    """Answers an Ask as an unlike pair must, with static weights or none."""

    def write(self, ask: Ask) -> Written:
        """The answer, up to its end or its length."""
        sampling, device = ask.sampling, self._models["device"].word_tokens
        assert device is not None
        numbers, margins = list[int](), list[float]()
        with self._read(ask) as (readings, found):
            weights = self._weighed(ask, [], found)
            eta = round(eta_device(weights["device"][1], weights["cloud"][1]) * _STEPS)
            while len(device.tokens(numbers)) < sampling.max_tokens and not (numbers and word_of(numbers[-1]) == END):
                own, other = (self._draw(ask, side, readings[side], numbers, weights[side][0]) for side in readings)
                if sampling.temperature > 0:
                    margins.append(1.0)
                    spoken = own if coin(sampling.seed, len(numbers), _STEPS) < eta else other
                else:
                    shares = eta * own.count, (_STEPS - eta) * other.count
                    margins.append(abs(shares[0] - shares[1]) / max(shares) if own.word != other.word else 1.0)
                    spoken = own if shares[0] >= shares[1] else other
                numbers.append(spoken.word)
        ids = device.tokens(numbers)[: sampling.max_tokens]
        return Written([word_of(number) for number in numbers], ids, margins)

    def _draw(self, ask: Ask, side: str, group: SequenceGroup, numbers: list[int], weights: list[float]) -> Proposal:
        tokens, sampling = self._models[side].word_tokens, ask.sampling
        assert tokens is not None
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        before = word_of(numbers[-1]) if numbers else None
        draw = WordDraw(tokens, rule, len(numbers), before, mass=DEFAULTS.wire_mass, ends=not ask.ignore_eos)
        while True:
            heads = Heads(rows_behind(group, [*tokens.tokens(numbers), *draw.ids]))  # type: ignore[arg-type]
            found = draw.add(heads, weights, None)
            if found is not None:
                return found.distribution
