"""The methods that the figures compare, all on one running pair: ours, and the paper's baselines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

from hocket_bus.messages import Sampling, Task
from hocket_daemon.config import DeviceSettings
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import BUNDLED, ModelSettings
from hocket_lab.bench.baselines import drcg, sequence
from hocket_lab.bench.baselines.moved import MovedKV
from hocket_lab.bench.running.product import DOCUMENTS
from hocket_lab.bench.running.running import BenchPair
from hocket_lab.bench.running.stream import Run, ask
from hocket_tools.caller import Caller

ALONE = ("device", "cloud")  # CRCG: a side answers from its own documents
DRCG_TEXT, DRCG_KV, DRDG_SW = "drcg-text", "drcg-kv", "drdg-sw"
METHODS = (*ALONE, DRCG_TEXT, DRCG_KV, DRDG_SW, "sync", "sync-both", "independent", "coupled")
SETTLE_S = 6.0  # several of the link's pings: the device's measured round trip must be the new one


@dataclass(frozen=True)
class Options:
    """Options with which every method is asked."""

    tokens: int
    temperature: float
    documents: int  # a side
    task: Task = "complete"


class Methods:
    """The methods on `pair`, whose device's decode steps are held at `hold_s`. A context manager."""

    def __init__(self, pair: BenchPair, hold_s: float = 0.0, *, model: str = BUNDLED) -> None:
        """Open clients of both sides; `model` is that of both, which a baseline loads by itself."""
        self._pair, self._model = pair, model
        self._hold_s = hold_s
        self._settled: tuple[float, float] | None = None
        with ExitStack() as stack:
            self._device, self._cloud = (stack.enter_context(pair.client(side)) for side in ALONE)
            self._remote = stack.enter_context(pair.client("cloud", remote=True))
            self._stack = stack.pop_all()

    def __enter__(self) -> Methods:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @cached_property
    def _text(self) -> drcg.Text:
        own, remote = self._searcher("device"), self._searcher("cloud", remote=True)
        return drcg.Text(open_model(ModelSettings(name=self._model), "device"), own, remote)

    @cached_property
    def _kv(self) -> MovedKV:
        """The method DRCG/KV; its first use reads all documents, which takes a while."""
        pair, own, near = self._pair, self._searcher("device"), self._searcher("cloud")
        moved = MovedKV(own, near, (pair.kv(), pair.kv(remote=True)), self._model)
        self._stack.callback(moved.close)
        return moved

    def _searcher(self, side: str, *, remote: bool = False) -> Caller:
        return self._stack.enter_context(self._pair.searcher(side, remote=remote))

    def warm_up(self, prompt: str, methods: Sequence[str] = METHODS) -> None:
        """Let each of `methods` give one answer that nobody measures, since the first answer of a process is slower."""
        for method in methods:
            self.run(method, prompt, Options(tokens=2, temperature=0.0, documents=DOCUMENTS), 0)

    def settle(self, rtt_s: float, jitter: float) -> None:
        """Emulate a round trip, and wait until the device knows it unless it was the same before.

        `jitter` is that of each direction, a share of its delay.
        """
        if (rtt_s, jitter) != self._settled:
            self._pair.set_rtt(rtt_s, jitter * rtt_s / 2)
            time.sleep(SETTLE_S)
            self._settled = (rtt_s, jitter)

    def run(self, method: str, prompt: str, options: Options, seed: int) -> Run:
        """Return one answer by one of METHODS."""
        asked = {
            "seed": seed,
            "temperature": options.temperature,
            "max_tokens": options.tokens,
            "documents": options.documents,
            "task": options.task,
        }
        if method == DRCG_TEXT:
            return self._text.run(prompt, self._terms(options, seed))
        if method == DRCG_KV:
            return self._kv.run(prompt, self._terms(options, seed))
        if method == DRDG_SW:
            return sequence.run(self._device, self._remote, prompt, asked)
        if method in ALONE:
            return ask(self._cloud if method == "cloud" else self._device, prompt, alone=True, **asked)
        assert method in METHODS
        return ask(self._device, prompt, aggregation=method, require_cloud=True, **asked)

    def _terms(self, options: Options, seed: int) -> drcg.Terms:
        defaults = DeviceSettings(endpoint="", retrieval="")
        return drcg.Terms(
            Sampling(temperature=options.temperature, top_p=1.0, seed=seed, max_tokens=options.tokens),
            options.documents,
            options.task,
            defaults.aggregation.relevance_temperature,
            defaults.aggregation.wire_mass,
            self._hold_s,
        )
