"""The far side of a dispatched answer, as its leader sees it: a cloud daemon, or a server of text."""

from __future__ import annotations

from typing import Protocol

from hocket_bus.errors import HocketError
from hocket_bus.messages import Finish, Message, Standing

from ..serving.sources import Told
from .work import Work


class CloudOwner(Protocol):
    """Whose answer it is."""

    def on_cloud_read(self, standing: Standing) -> None:
        """The cloud has read its prompt."""

    def on_cloud_standing(self) -> None:
        """It could write behind what it was told last."""

    def on_cloud_token(self, step: int, token: int) -> None:
        """Its next token. Raises BadMessage for one that cannot be the next."""

    def on_cloud_finished(self, finish: Finish) -> None:
        """Its text has ended."""

    def on_cloud_failed(self, error: HocketError) -> None:
        """It cannot take part, or not now."""


class CloudWriter(Protocol):
    """Told what to do behind all tokens that the answer has; what is told raises Unavailable, or Forbidden."""

    opened: bool  # it was told anything
    told: Told | None  # what it says of its sources
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
    def has_read(self) -> bool:
        """Whether it has read its prompt, and need not again."""

    @property
    def has_said_all(self) -> bool:
        """Whether `work` is all that it has computed, counted and not estimated."""

    @property
    def work(self) -> Work:
        """What it has computed, as far as is known."""

    @property
    def rtt_s(self) -> float:
        """The round trip to it, 0 where none is known."""

    def stand(self) -> None:
        """Read all tokens so far, and wait."""

    def write(self) -> None:
        """Go on behind all tokens so far."""

    def hold(self) -> None:
        """Stop; another side writes."""

    def end(self, reason: str) -> None:
        """The answer is there, or is not wanted any more."""

    def receive(self, message: Message) -> None:
        """A message of the link. Raises BadMessage."""
