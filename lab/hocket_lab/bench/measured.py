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
_PAIR = (*_ASKING, *_BUNDLED, "lab/bench/running.py")
_JOINT = (*_PAIR, "daemon/aggregation")
_STREAMED = (*_JOINT, "lab/bench/stream.py")
_METHODS = (*_STREAMED, "lab/bench/baselines", "lab/bench/figures", "lab/bench/methods.py")
_DISPATCHED = (*_PAIR, "daemon/dispatch", "lab/bench/dispatch", "lab/bench/live")
_COMPOSED = (*_PAIR, "daemon/composition", "models/bundled-composition", "lab/bench/composition", "lab/bench/live")
_LAW = ("bus/messages", "daemon/aggregation", "daemon/engine", "daemon/serving", DEFAULTS)  # in one process, no bus
_TWO_SIDES = ("lab/bench/parties.py", "lab/bench/two_sides.py")
_SIMULATED = ("lab/bench/figures", "lab/simulator")

MEASURED: Mapping[str, tuple[str, ...]] = {  # by words of a command; of several that fit, the longest counts
    "bench aggregation": (*_STREAMED, "lab/bench/aggregation.py"),
    "bench answers": (*_LAW, "retrieval/embedder.py", *_TWO_SIDES, "lab/bench/answers.py"),
    "bench composition": _COMPOSED,
    "bench copying": (
        *("bus/messages", "daemon/engine", "daemon/serving/passage_weights.py", "retrieval/embedder.py", DEFAULTS),
        *("lab/bench/dealt.py", "lab/bench/question_sets.py"),
        "lab/bench/copying.py",
    ),
    "bench determinism": ("daemon/engine", "models/device", "lab/bench/determinism.py"),
    "bench dialogues": (*_JOINT, "lab/bench/dialogues.json", "lab/bench/dialogues.py"),
    "bench dispatch": ("daemon/dispatch", "daemon/engine", "lab/bench/dispatch"),
    "bench engine": ("daemon/engine", "models/device", "lab/bench/engine.py"),
    "bench figure 4": (*_SIMULATED, *_STREAMED),
    "bench figure 5": (*_LAW, "models/device", "retrieval", "lab/bench/figures"),
    "bench figure 6": _METHODS,
    "bench figure 7": _METHODS,
    "bench figure 8": (*_SIMULATED, *_STREAMED),
    "bench figure 9": _SIMULATED,
    "bench found": (
        "bus/messages",
        "daemon/serving/follow_up.py",
        "retrieval",
        "lab/bench/found.py",
        "lab/bench/graph/sets.py",
    ),
    "bench relevance": (
        *("daemon/aggregation/settings.py", "retrieval"),
        *("lab/bench/conditional.py", "lab/bench/graph/sets.py", "lab/bench/multihop.py", "lab/bench/relevance.py"),
    ),
    "bench gateway": (
        *("bus", "client", "daemon/aggregation", "daemon/serving", "gateway"),
        *("lab/bench/bare.py", "lab/bench/gateway.py", "lab/bench/overhead.py"),
    ),
    "bench crowd": (*_JOINT, "gateway", "lab/bench/crowd.py", "lab/bench/gateway.py"),
    "bench gpu": ("daemon/engine", "lab/bench/gpu.py"),
    "bench group": (*_JOINT, "bus/sealing.py", "tools/embedding.py", "lab/bench/group", "lab/bench/parties.py"),
    "bench group --part answers": (
        *(*_LAW, "retrieval", "lab/bench/parties.py", "lab/bench/question_sets.py"),
        *("lab/bench/group/answers.py", "lab/bench/group/model.py", "lab/bench/group/worlds.py"),
    ),
    "bench group --part apart": (
        *(*_LAW, "retrieval", "lab/bench/parties.py", "lab/bench/question_sets.py", "lab/simulator/group.py"),
        *("lab/bench/group/apart.py", "lab/bench/group/answers.py", "lab/bench/group/model.py"),
        "lab/bench/group/worlds.py",
    ),
    "bench group --part privacy": (
        *(*_LAW, "retrieval", "lab/bench/canaries.py", "lab/bench/leaks.py", "lab/bench/parties.py"),
        *("lab/bench/group/model.py", "lab/bench/group/privacy.py"),
    ),
    "bench graph": (*_JOINT, "daemon/graph", "lab/bench/graph", "tools/embedding.py"),
    "bench invented": (*_JOINT, "lab/bench/invented.json", "lab/bench/invented.py"),
    "bench kv": (*_STREAMED, "lab/bench/kv.py"),
    "bench lies": (*_LAW, "lab/bench/forced.json", *_TWO_SIDES, "lab/bench/forced.py", "lab/bench/lies.py"),
    "bench link": ("lab/bench/link.py", "lab/link"),
    "bench load": (*_JOINT, "lab/bench/load.py", "lab/bench/scripted.py"),
    "bench migration": (*_DISPATCHED, "lab/bench/migration.py"),
    "bench languages": (
        *(*_JOINT, "lab/bench/languages.json", "lab/bench/languages.py", "lab/bench/newcomer.json"),
        *("tools/models/embedders.py", "tools/models/packed_embedder.py"),
    ),
    "bench newcomer": (*_JOINT, "lab/bench/newcomer.json", "lab/bench/newcomer.py"),
    "bench overhead": (
        *("bus", "client", "daemon/aggregation", "daemon/engine/sampling/distribution.py", "daemon/serving"),
        *("lab/bench/bare.py", "lab/bench/overhead.py"),
    ),
    "bench preemption": ("daemon/engine", "lab/bench/preemption.py", "lab/bench/random_model.py"),
    "bench privacy": (*_JOINT, "lab/bench/leaks.py", "lab/bench/privacy.py", "lab/link/tap.py"),
    "bench profile": (*_JOINT, "daemon/profiling", "lab/bench/profile.py"),
    "bench race": (*_DISPATCHED, "lab/bench/race.py"),
    "bench real": (*_JOINT, "lab/bench/real.py"),
    "bench reading": (*_JOINT, "lab/bench/newcomer.json", "lab/bench/newcomer.py", "lab/bench/reading.py"),
    "bench retrieval": ("retrieval", "lab/bench/retrieval.py"),
    "bench stores": ("retrieval", "lab/bench/stores.py"),
    "bench cloud": (
        *("bus", "client", "daemon/*.py", "daemon/aggregation", "daemon/engine", "daemon/serving", DEFAULTS),
        *("lab/bench/gpu.py", "lab/bench/load.py", "lab/bench/running.py", "lab/bench/scripted.py"),
        "lab/bench/cloud.py",
    ),
    "bench soak": (*_JOINT, "lab/bench/load.py", "lab/bench/scripted.py", "lab/bench/soak.py"),
    "bench shown": (*_COMPOSED, "lab/bench/shown.py"),
    "bench typing": (*_COMPOSED, "lab/bench/typing.py"),
    "bench formats": (*_STREAMED, "lab/bench/llama_loop.py", "lab/bench/formats.py"),
    "bench answerable": (
        *("daemon/serving", "daemon/aggregation/settings.py", "daemon/engine", "retrieval"),
        *("lab/bench/answerable.json", "lab/bench/answerable.py", "lab/bench/question_sets.py"),
        *("lab/bench/rule.py", "lab/bench/unknown.py"),
    ),
    "bench unknown": (
        "daemon/serving/evidence.py",
        "daemon/aggregation/settings.py",
        "retrieval",
        "lab/bench/question_sets.py",
        "lab/bench/unknown.py",
    ),
    "bench vllm": ("daemon/engine", "lab/bench/gpu.py", "lab/bench/vllm.py"),
    "bench wire": ("bus", "daemon/aggregation", "daemon/engine", "lab/bench/wire.py"),
    "hocket ingest": ("bus", "retrieval"),
    "hocket model check": ("daemon/engine",),
    "hocket simulate": ("lab/simulator",),
    "hocket train composition": ("daemon/composition", "lab/bench/composition", "tools/train"),
    "tests/aggregation": ("bus/messages", "daemon/aggregation", "daemon/engine"),
    "tests/pair": _JOINT,
    "tests/security": ("bus", "daemon/*.py", "daemon/aggregation", "daemon/serving", DEFAULTS),
    "tests/tools/test_privacy.py": (*_JOINT, "lab/bench/leaks.py", "lab/bench/privacy.py", "lab/link/tap.py"),
}


def parts_of(command: str) -> tuple[str, ...]:
    """The parts that a command measures, in their order; all packages where nothing is said of it."""
    fits = [words for words in MEASURED if words in command]
    return tuple(sorted(set(MEASURED[max(fits, key=len)]))) if fits else PACKAGES
