"""Which parts of hocket each command measures: the one place that says it. Those digests stand beside its figures.

A part is a package's name and, behind it, what lies in that package: a folder, a file or a pattern. `defaults` are the
values that the product has where nobody says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

PACKAGES = ("bus", "client", "daemon", "models", "retrieval", "tools")
DEFAULTS = "defaults"

_BUNDLED = ("models/cloud", "models/device")
_ASKING = ("bus", "client", "daemon/*.py", "daemon/engine", "daemon/privacy", "daemon/serving", "retrieval", DEFAULTS)
_PAIR = (*_ASKING, *_BUNDLED, "tools/bench/running.py")
_JOINT = (*_PAIR, "daemon/aggregation")
_STREAMED = (*_JOINT, "tools/bench/stream.py")
_METHODS = (*_STREAMED, "tools/bench/baselines", "tools/bench/figures", "tools/bench/methods.py")
_DISPATCHED = (*_PAIR, "daemon/dispatch", "tools/bench/dispatch", "tools/bench/live")
_COMPOSED = (*_PAIR, "daemon/composition", "models/bundled-composition", "tools/bench/composition", "tools/bench/live")
_LAW = ("bus/messages", "daemon/aggregation", "daemon/engine", "daemon/serving", DEFAULTS)  # in one process, no bus
_SIMULATED = ("tools/bench/figures", "tools/simulator")

MEASURED: Mapping[str, tuple[str, ...]] = {  # by words of a command; of several that fit, the longest counts
    "bench aggregation": (*_STREAMED, "tools/bench/aggregation.py"),
    "bench answers": (*_LAW, "retrieval/embedder.py", "tools/bench/answers.py", "tools/bench/two_sides.py"),
    "bench composition": _COMPOSED,
    "bench determinism": ("daemon/engine", "models/device", "tools/bench/determinism.py"),
    "bench dispatch": ("daemon/dispatch", "daemon/engine", "tools/bench/dispatch"),
    "bench engine": ("daemon/engine", "models/device", "tools/bench/engine.py"),
    "bench figure 4": (*_SIMULATED, *_STREAMED),
    "bench figure 5": (*_LAW, "models/device", "retrieval", "tools/bench/figures"),
    "bench figure 6": _METHODS,
    "bench figure 7": _METHODS,
    "bench figure 8": (*_SIMULATED, *_STREAMED),
    "bench figure 9": _SIMULATED,
    "bench graph": (*_JOINT, "daemon/graph", "tools/bench/graph", "tools/embedding.py"),
    "bench invented": (*_JOINT, "tools/bench/invented.json", "tools/bench/invented.py"),
    "bench kv": (*_STREAMED, "tools/bench/kv.py"),
    "bench lies": (*_LAW, "tools/bench/forced.json", "tools/bench/forced.py", "tools/bench/lies.py"),
    "bench link": ("tools/bench/link.py", "tools/link"),
    "bench load": (*_JOINT, "tools/bench/load.py", "tools/bench/scripted.py"),
    "bench migration": (*_DISPATCHED, "tools/bench/migration.py"),
    "bench overhead": (
        *("bus", "client", "daemon/aggregation", "daemon/engine/distribution.py", "daemon/serving"),
        *("tools/bench/bare.py", "tools/bench/overhead.py"),
    ),
    "bench preemption": ("daemon/engine", "tools/bench/preemption.py", "tools/bench/random_model.py"),
    "bench privacy": (*_JOINT, "tools/bench/leaks.py", "tools/bench/privacy.py", "tools/link/tap.py"),
    "bench profile": (*_JOINT, "daemon/profiling", "tools/bench/profile.py"),
    "bench race": (*_DISPATCHED, "tools/bench/race.py"),
    "bench real": (*_JOINT, "tools/bench/real.py"),
    "bench retrieval": ("retrieval", "tools/bench/retrieval.py"),
    "bench soak": (*_JOINT, "tools/bench/load.py", "tools/bench/scripted.py", "tools/bench/soak.py"),
    "bench typing": (*_COMPOSED, "tools/bench/typing.py"),
    "bench voices": (*_STREAMED, "tools/bench/llama_loop.py", "tools/bench/voices.py"),
    "bench wire": ("bus", "daemon/aggregation", "daemon/engine", "tools/bench/wire.py"),
    "hocket ingest": ("bus", "retrieval"),
    "hocket model check": ("daemon/engine",),
    "hocket simulate": ("tools/simulator",),
    "hocket train composition": ("daemon/composition", "tools/bench/composition", "tools/train"),
    "tests/aggregation": ("bus/messages", "daemon/aggregation", "daemon/engine"),
    "tests/pair": _JOINT,
    "tests/security": ("bus", "daemon/*.py", "daemon/aggregation", "daemon/serving", DEFAULTS),
    "tests/tools/test_privacy.py": (*_JOINT, "tools/bench/leaks.py", "tools/bench/privacy.py", "tools/link/tap.py"),
}


def parts_of(command: str) -> tuple[str, ...]:
    """The parts that a command measures, in their order; all packages where nothing is said of it."""
    fits = [words for words in MEASURED if words in command]
    return tuple(sorted(set(MEASURED[max(fits, key=len)]))) if fits else PACKAGES
