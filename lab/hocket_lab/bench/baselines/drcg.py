"""DRCG (paper §7.1): the device generates alone, from the passages of both sides; the cloud's travel over the link.

`Text` reads all passages from scratch. It runs in the benchmark's own process with the device's model; retrieval is by
the daemons.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hocket_bus.messages import Passage, Passages, Sampling, Search, Task
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.runtime.sequences import SequenceGroup
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.serving.search.passage_weights import weigh
from hocket_lab import forcing
from hocket_lab.bench.running.stream import Run
from hocket_lab.forcing import read_at_once
from hocket_tools.caller import Caller

WAIT_S = 60.0


@dataclass(frozen=True)
class Terms:
    """Parameters of one run of a baseline."""

    sampling: Sampling
    documents: int  # a side
    task: Task
    relevance_temperature: float
    wire_mass: float
    hold_s: float  # a decode step takes at least this long


@dataclass(frozen=True)
class Text:
    """DRCG/Text: ask both retrieval daemons at once, read all passages, generate."""

    model: LanguageModel
    device: Caller
    cloud: Caller  # the cloud's retrieval daemon, over the link

    def run(self, prompt: str, terms: Terms) -> Run:
        """Answer as the device's user would see it."""
        started_s = time.monotonic()
        passages = self._search(prompt, terms.documents)
        return answered(self.model, prompt, passages, terms, started_s)

    def _search(self, prompt: str, k: int) -> list[Passage]:
        def search(caller: Caller) -> list[Passage]:
            return caller.ask(Search(request=os.urandom(16), query=prompt, k=k), Passages, WAIT_S).passages

        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(search, caller) for caller in (self.device, self.cloud)]
            return [passage for future in found for passage in future.result()]


def answered(model: LanguageModel, prompt: str, passages: list[Passage], terms: Terms, started_s: float) -> Run:
    """Return the device's answer from both sides' passages, for a request made at `started_s` (monotonic clock)."""
    weights, _ = weigh([passage.score for passage in passages], terms.relevance_temperature)
    texts = [passage.text for passage in passages]
    group = read_at_once(model, prompt, texts, task=terms.task, room=terms.sampling.max_tokens)
    try:
        times_s, ids = _generate(group, weights, terms)
        return Run([at_s - started_s for at_s in times_s], ids)
    finally:
        group.close()


def _generate(group: SequenceGroup, weights: list[float], terms: Terms) -> tuple[list[float], list[int]]:
    """Return the monotonic times at which the tokens were drawn, and the tokens."""
    sampling = terms.sampling
    rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
    ids: list[int] = []
    times_s = []
    while len(ids) < sampling.max_tokens:
        due_s = time.monotonic() + terms.hold_s
        distribution = truncate(forcing.distribution(group, ids, weights), terms.wire_mass)
        ids.append(sample(rule, len(ids), distribution))
        time.sleep(max(0.0, due_s - time.monotonic()))
        times_s.append(time.monotonic())
    return times_s, ids
