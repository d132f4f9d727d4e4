"""The terms on which an answer is dispatched: what its mode holds for all of them, and what was asked of this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hocket_bus.messages import Ask, Dispatch, DispatchOptions

from ..serving.stream.prefix import PrefixChain
from .policies.dispatcher import Dispatcher
from .settings import Migration
from .writers.writers import CloudWriter, WritingSession

Begins = Literal["race", "evidence", "cloud"]  # who begins: whoever is quicker, whoever knows more, or the cloud


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that a mode gives each of its leaders."""

    dispatcher: Dispatcher
    migration: Migration
    pace: float  # tokens a second that the reader reads
    opening: Dispatch
    begins: Begins
    min_evidence: float  # the score below which no passage is taken to be about a question
    trusts: bool  # a cloud that has written may have back what the device goes on with
    cloud: Callable[[PrefixChain, WritingSession], CloudWriter] | None  # of these tokens; None: there is no cloud
    cloud_prompts: deque[int]  # tokens of the cloud's latest prompts, for each session to add to
    booked: Callable[[], None]  # is told that the account has changed

    def largest_prompt(self, own: int) -> int:
        """Return as many tokens as the cloud's prompt may have, by its latest ones, where this side's has `own`."""
        return max(own, *self.cloud_prompts, 0)


def options_of(ask: Ask) -> DispatchOptions:
    """The options of a question; the defaults where it has none."""
    return ask.options if isinstance(ask.options, DispatchOptions) else DispatchOptions()
