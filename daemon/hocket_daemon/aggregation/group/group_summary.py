"""The summary of who took part in an answer, from which step to which."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.messages import MemberOutcome

from .group_dialogue import GroupDialogue

MAX_STEPS = 256  # numbers; a member that comes and goes all the time does so alike


def of_members(dialogue: GroupDialogue, names: Sequence[str], length: int) -> list[MemberOutcome]:
    """Summarise the members' parts in an answer of `length` tokens."""
    return [_of_member(dialogue, name, length) for name in names]


def _of_member(dialogue: GroupDialogue, name: str, length: int) -> MemberOutcome:
    exchange = dialogue.exchange
    there = [name in present for present in exchange.roster[:length]]
    turns = [step for step, (was, now) in enumerate(zip([False, *there], [*there, False], strict=True)) if was != now]
    accepted = sum(name in each for each in exchange.accepted[:length])
    share = accepted / sum(there) if any(there) else None
    return MemberOutcome(name=name, steps=turns[:MAX_STEPS], accept=share, drafts=dialogue.drafts_of(name))
