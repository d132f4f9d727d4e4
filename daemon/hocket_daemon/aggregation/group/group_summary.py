"""The summary of who took part in an answer, from which step to which."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.messages import MemberOutcome

from ..dialogue import Dialogue

MAX_STEPS = 256  # numbers; a member that comes and goes all the time does so alike


def of_members(dialogue: Dialogue, names: Sequence[str], length: int) -> list[MemberOutcome]:
    """Summarise the members' parts in an answer of `length` tokens."""
    return [_of_member(dialogue, name, length) for name in names]


def _of_member(dialogue: Dialogue, name: str, length: int) -> MemberOutcome:
    traces = dialogue.exchange.traces[:length]
    there = [name in trace.others for trace in traces]
    turns = [step for step, (was, now) in enumerate(zip([False, *there], [*there, False], strict=True)) if was != now]
    accepted = sum(name in trace.drafted for trace in traces)
    share = accepted / sum(there) if any(there) else None
    return MemberOutcome(name=name, steps=turns[:MAX_STEPS], accept=share, drafts=dialogue.drafts_of(name))
