"""The terms on which a question is led: what its mode decides for all, and what was asked of this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket_bus.errors import Unavailable
from hocket_bus.messages import AggregationOptions, Ask, Begin, Method, Ready, Side, Unit

from ..serving.mode import Peer
from ..serving.session_account import MORE_BITS, SessionAccount, withholds
from .exchange.schedule import Scheduler
from .partner import Waits
from .steering import Guard

STEERED = (
    "the cloud may be steering this answer to extract your private text",
    "it gets nothing more of this answer; if the cloud is yours, set trust_cloud = true under [aggregation]",
)
DOUBTED = (
    "the cloud may be steering this answer towards your private text, though most likely by chance; if you do not "
    "trust it, set drafts = false under [egress]: the device then leaves it in time"
)
UNGUARDED = (
    "the models of the two sides have different tokenizers, and then it cannot be checked whether the cloud steers an "
    "answer to extract your private text",
    "if the cloud is yours, set trust_cloud = true under [aggregation]",
)
INDEPENDENT = (
    "the models of the two sides have different tokenizers, and the method independent needs one",
    "ask with another method",
)
NO_CLOUD = "set cloud in the device's configuration, or ask without --require-cloud"


@dataclass(frozen=True, slots=True)
class LeaderTerms:
    """The terms that a mode gives each leader: how long to wait, who aggregates, how to be on guard, how to open."""

    waits: Waits
    progress_wait_s: float  # the longest wait for a side that reports progress; 0: as `longest_wait_s` has it
    scheduler: Callable[[], Scheduler]
    min_evidence: float  # the score below which no passage is taken to be about a question
    guard: Guard  # what is done where the other side steers the answer
    opening: Callable[[str, Unit], Begin]  # by the scorer that both sides are known to have, and what a step is
    unit: Callable[[Peer | None], Unit]  # of a session with this other side
    agreed: Callable[[str], None]  # is told the scorer that both sides have


def options_of(ask: Ask) -> AggregationOptions:
    """The options of a question; the defaults where it has none."""
    return ask.options if isinstance(ask.options, AggregationOptions) else AggregationOptions()


def nothing_found(
    side: Side, ready: Ready | None, within: Sequence[str], account: SessionAccount | None
) -> Unavailable:
    """Return the error where the leader's `side` has no passage; `ready` is what the other one has reported."""
    if withholds(account):
        return Unavailable("no document that was found has enough bits left", MORE_BITS)
    if within:
        return Unavailable(found_in(within), "name another folder, or search all documents")
    where = "on either side" if ready is not None and ready.documents == 0 else f"on the {side}"
    return Unavailable(f"no documents are ingested {where}", f"run: hocket ingest --side {side} PATH")


def unsuited(method: Method, kind: Guard) -> tuple[str, str] | None:
    """Return why a question cannot be answered by words, and a remedy; None where it can."""
    if method == "independent":
        return INDEPENDENT
    return UNGUARDED if kind == "leaves" else None


def found_in(within: Sequence[str]) -> str:
    """The words for folders that have no passage."""
    return f"nothing is found in {', '.join(within)}"
