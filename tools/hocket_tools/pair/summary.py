"""The state of this machine's daemons in a few lines for people: what a user needs, each thing once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hocket_tools.pair.state import NOT_RUNNING, DaemonState

LEAVES = "leaves this device"  # the fact of the device daemon that says so
_ONCE = ("model", "default model", "a better model", "cloud", LEAVES, "page", "OpenAI's API")
_IDLE = frozenset(("", "0", "none"))


def summary(states: Sequence[DaemonState]) -> list[str]:
    """Return a line for each thing that a user needs to know of the daemons; where none answers, why each has ended."""
    answering = [state for state in states if state.answering]
    if not answering:
        return [line for state in states if state.problem != NOT_RUNNING for line in _line(state.name, state.problem)]
    lines = [line for fact in _ONCE for line in _once(answering, fact)]
    stores = [state for state in answering if "documents" in state.facts]
    documents = {state.name.removesuffix("-retrieval"): state.facts["documents"] for state in stores}
    work = {state.name: ", ".join(_work(state)) for state in answering}
    return [*lines, *_line("documents", _listed(documents)), *_line("in work", _listed(work))]


def _once(states: Sequence[DaemonState], fact: str) -> list[str]:
    """Return the line of a fact; where daemons differ in it, each one's value."""
    values = {state.name: state.facts[fact] for state in states if state.facts.get(fact, "") not in _IDLE}
    if len(set(values.values())) <= 1:
        return _line(fact, next(iter(values.values()), ""))
    return _line(fact, _listed(values))


def _listed(values: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items() if value)


def _work(state: DaemonState) -> Iterator[str]:
    """Yield what a daemon is at, as far as it is at anything."""
    facts = state.facts
    if facts.get("work", "") not in _IDLE:
        yield facts["work"]
    for fact in ("files to ingest", "documents to make anew", "requests in work"):
        if facts.get(fact, "") not in _IDLE:
            yield f"{fact.removesuffix(' in work')}: {facts[fact]}"


def _line(what: str, value: str) -> list[str]:
    return [f"{what + ':':<12}{value}" if len(what) < 11 else f"{what}: {value}"] if value else []
