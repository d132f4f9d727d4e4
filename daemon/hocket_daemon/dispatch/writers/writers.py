"""One protocol for whoever writes a dispatched answer: this side's own model, a cloud daemon, or a server of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Message, Passage, Passages, Side, Standing

from ...engine.sampling.heads import Table
from ...engine.sampling.ranking import Ranking
from ...serving.records.sources import PeerSources
from .work import Work


class WritingSession(Protocol):
    """Whose answer it is; what a writer tells names the writer's side."""

    @property
    def user(self) -> str:
        """The key for which this side works."""

    @property
    def within(self) -> Sequence[str]:
        """The folders from which alone this side's passages are; empty: all are searched."""

    def on_found(self) -> None:
        """This side's own writer has its passages."""

    def on_read(self, side: Side) -> None:
        """The prompt is read."""

    def on_standing(self, side: Side) -> None:
        """It could write behind the tokens that there are."""

    def on_thought(self, side: Side, text: str) -> None:
        """A part of what its model thinks before it writes."""

    def on_token(self, side: Side, step: int, token: int, ranking: Ranking) -> None:
        """Its next token; it may be at work on the one behind it. Raises BadMessage for one that cannot be the next."""

    def on_finished(self, side: Side, finish: Finish) -> None:
        """Its text has ended, and no token says so."""

    def on_failed(self, side: Side, error: HocketError) -> None:
        """It cannot take part, or not now."""


class AnswerWriter(Protocol):
    """Told what to do behind the tokens that its session's answer has; to be told raises Unavailable, or Forbidden."""

    @property
    def has_read(self) -> bool:
        """Whether it has read its prompt, and need not again."""

    @property
    def work(self) -> Work:
        """What it has computed, as far as is known."""

    def stand(self) -> None:
        """Read all tokens so far, and wait."""

    def write(self) -> None:
        """Go on behind all tokens so far."""

    def pause(self) -> None:
        """Write no further for now; what is being read is read on."""

    def hold(self) -> None:
        """Stop; another side writes."""

    def end(self, reason: str) -> None:
        """The answer is there, or is not wanted any more."""


class OwnWriter(AnswerWriter, Protocol):
    """This side's: it searches with `start`, and reads this side's passages."""

    found: Passages | None  # None before the search has answered

    @property
    def passages(self) -> list[Passage]:
        """Those of `found`."""

    @property
    def rows(self) -> int:
        """How many rows of this daemon's model hold the prompt."""

    @property
    def continues(self) -> bool:
        """Whether it can go on behind what another side wrote."""

    def part(self, step: int) -> Table | None:
        """Each passage's part in the token of a step that was written here."""

    def start(self) -> None:
        """Find the passages."""

    def read(self) -> None:
        """Read the prompt as soon as the passages are there. Again does no harm."""


class CloudWriter(AnswerWriter, Protocol):
    """One at the other end of a link or of a connection."""

    opened: bool  # it was told anything
    peer_sources: PeerSources | None  # what it says of its sources
    standing: Standing | None  # what a cloud daemon said last of itself

    @property
    def obstacle(self) -> HocketError | None:
        """Why it cannot be reached now; None where it can."""

    @property
    def is_linked(self) -> bool:
        """Whether it is at the other end of this daemon's link, and tells its sources at the end."""

    @property
    def stands(self) -> bool:
        """Whether it can read, and wait to be told to write."""

    @property
    def continues(self) -> bool:
        """Whether it can go on behind what another side wrote."""

    @property
    def has_reported_all(self) -> bool:
        """Whether `work` is all that it has computed, counted and not estimated."""

    @property
    def rtt_s(self) -> float:
        """The round trip to it, 0 where none is known."""

    def receive(self, message: Message) -> None:
        """A message of the link. Raises BadMessage."""
