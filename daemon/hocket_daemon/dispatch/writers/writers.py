"""The protocols of a dispatched answer's writers: this side's own model, a cloud daemon, or a server of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Message, Passage, Passages, Side, WriterStatus

from ...engine.sampling.heads import Table
from ...engine.sampling.ranking import Ranking
from ...serving.records.sources import PeerSources
from .work import Work


class WritingSession(Protocol):
    """The session of the answer; what a writer reports to it names the writer's side."""

    @property
    def user(self) -> str:
        """The key of the user for whom this side works."""

    @property
    def within(self) -> Sequence[str]:
        """The folders in which alone this side searches; empty for all."""

    def on_found(self) -> None:
        """Handle that this side's own writer has its passages."""

    def on_read(self, side: Side) -> None:
        """Handle that the side has read the prompt."""

    def on_writer_status(self, side: Side) -> None:
        """Handle that the side could write after the tokens so far."""

    def on_thought(self, side: Side, text: str) -> None:
        """Handle a part of what the side's model thinks before it writes."""

    def on_token(self, side: Side, step: int, token: int, ranking: Ranking) -> None:
        """Take the side's next token; the one after may be under way. Raises BadMessage for one that cannot be next."""

    def on_finished(self, side: Side, finish: Finish) -> None:
        """Handle the end of the side's text, where no token says so."""

    def on_failed(self, side: Side, error: HocketError) -> None:
        """Handle that the side cannot take part, or not now."""


class AnswerWriter(Protocol):
    """A writer that is told what to do after the answer's tokens so far; orders raise Unavailable, or Forbidden."""

    @property
    def has_read(self) -> bool:
        """Tell whether it has read its prompt, and need not again."""

    @property
    def work(self) -> Work:
        """The work that it has done, as far as is known."""

    def stand(self) -> None:
        """Read all tokens so far, and wait."""

    def write(self) -> None:
        """Go on after all tokens so far."""

    def pause(self) -> None:
        """Write no further for now; what is being read is read on."""

    def hold(self) -> None:
        """Stop; another side writes."""

    def end(self, reason: str) -> None:
        """End: the answer is there, or is not wanted any more."""


class OwnWriter(AnswerWriter, Protocol):
    """The writer of this side: it searches with `start`, and reads this side's passages."""

    found: Passages | None  # None before the search has answered

    @property
    def passages(self) -> list[Passage]:
        """The passages of `found`."""

    @property
    def rows(self) -> int:
        """The number of rows of this daemon's model that hold the prompt."""

    @property
    def continues(self) -> bool:
        """Tell whether it can go on after what another side wrote."""

    def part(self, step: int) -> Table | None:
        """Return each passage's part in the token of a step that was written here."""

    def start(self) -> None:
        """Find the passages."""

    def read(self) -> None:
        """Read the prompt as soon as the passages are there. Again does no harm."""


class CloudWriter(AnswerWriter, Protocol):
    """A writer at the other end of a link or of a connection."""

    opened: bool  # it was told anything
    peer_sources: PeerSources | None  # what it says of its sources
    writer_status: WriterStatus | None  # what a cloud daemon said last of itself

    @property
    def obstacle(self) -> HocketError | None:
        """The reason why it cannot be reached now; None where it can."""

    @property
    def is_linked(self) -> bool:
        """Tell whether it is at the other end of this daemon's link, and reports its sources at the end."""

    @property
    def stands(self) -> bool:
        """Tell whether it can read, and wait to be told to write."""

    @property
    def continues(self) -> bool:
        """Tell whether it can go on after what another side wrote."""

    @property
    def has_reported_all(self) -> bool:
        """Tell whether `work` is all that it has computed, counted and not estimated."""

    @property
    def rtt_s(self) -> float:
        """The round trip to it, 0 where none is known."""

    def receive(self, message: Message) -> None:
        """Take a message of the link. Raises BadMessage."""
