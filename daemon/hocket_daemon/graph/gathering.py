"""A question beyond home, in the cloud: match summaries, ask the best devices, score their passages, keep the best.

The own documents are searched meanwhile; with no device to ask nothing else is waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import inf

import msgspec

from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    MAX_EVIDENCE,
    Evidence,
    Gather,
    Match,
    Matched,
    NoEvidence,
    Passage,
    Passages,
    Weigh,
)
from hocket_retrieval.text.heads import above

from ..serving.search.gatherer import Gathered
from ..serving.search.retrieval import Lookups
from .members import Members
from .settings import FederationSettings

MAX_CHARS = 6_000  # of a passage that is read: longer ones would leave no room for the question
Send = Callable[[bytes, Gather], None]


class Gathering:
    """The gathering for one question; it ends once, in `done`, unless it is closed before."""

    def __init__(
        self,
        question: str,
        k: int,
        *,
        asker: str,
        members: Members,
        settings: FederationSettings,
        lookups: Lookups,
        send: Send,
        done: Callable[[Gathered | HocketError], None],
    ) -> None:
        """Prepare to gather the `k` passages that the device `asker` wants for its question."""
        self.session = os.urandom(16)
        self.closed = False
        self.asked: set[str] = set()  # who has not answered yet
        self.due_s = inf
        self._question, self._k = question, k
        self._others = sorted(members.others(asker))
        self._members, self._settings, self._lookups = members, settings, lookups
        self._send, self._done = send, done
        self._began_s = time.monotonic()
        self._own: Passages | None = None
        self._matching = bool(self._others)
        self._matched: list[str] = []
        self._notices: list[str] = []
        self._without: list[str] = []  # why devices had nothing to tell
        self._evidence: list[Passage] = []

    def start(self, scorer: str) -> None:
        """Search the own documents, and find the devices that may know more."""
        if self._others:
            match = Match(request=os.urandom(16), query=self._question, devices=self._others)
            self._lookups.ask(match, self._on_matched)
        self._lookups.search(self._question, self._k, scorer, self._on_own)

    def close(self) -> None:
        """Stop: nobody waits any more."""
        self.closed = True
        self._lookups.close()

    def tick(self, now: float) -> None:
        """Go on without the devices that have not answered in time, and mark them as asleep."""
        if now < self.due_s or self.closed:
            return
        self.due_s = inf
        for name in sorted(self.asked):
            self._members.silent(name)
            self._notices.append(f"{name} has not answered within {self._settings.gather_s:g} s")
        self.asked.clear()
        self._go_on()

    def on_evidence(self, name: str, message: Evidence | NoEvidence) -> None:
        """Handle a device's answer; that of one that was not asked, or has answered, is dropped."""
        if name not in self.asked or self.closed:
            return
        self.asked.discard(name)
        if isinstance(message, NoEvidence):
            self._without.append(f"{name} has no passages for it: {message.why}")
        else:
            self._evidence += [_as_read(passage, name) for passage in message.passages[: self._asked_for]]
        self._go_on()

    def on_gone(self, name: str) -> None:
        """Handle a device that has left."""
        if name in self.asked:
            self.asked.discard(name)
            self._notices.append(f"{name} disconnected while it was asked")
            self._go_on()

    @property
    def _asked_for(self) -> int:
        return max(1, min(self._k, MAX_EVIDENCE))

    def _on_own(self, outcome: Passages | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self._end(outcome)
        else:
            self._own = outcome
            self._go_on()

    def _on_matched(self, outcome: Matched | HocketError) -> None:
        self._matching = False
        if isinstance(outcome, HocketError):
            self._notices.append(f"the devices' summaries cannot be searched: {outcome.text}")
        else:
            self._ask(list(dict.fromkeys(match.device for match in outcome.matches)))
        self._go_on()

    def _ask(self, names: list[str]) -> None:
        """Ask the best of the devices that are there; add a notice for each that is not."""
        gather = Gather(
            session=self.session, question=self._question, k=self._asked_for, deadline_s=self._settings.gather_s
        )
        for name in names:
            if len(self.asked) == self._settings.devices:
                break
            self._matched.append(name)
            route = self._members.route_of(name)
            if route is None:
                self._notices.append(f"{name}, whose summaries match, {self._members.why_not(name)}")
            else:
                self.asked.add(name)
                self._send(route, gather)
        if self.asked:
            self.due_s = time.monotonic() + self._settings.gather_s

    def _go_on(self) -> None:
        if self._own is None or self._matching or self.asked or self.closed:
            return
        self.due_s = inf
        known = {passage.text for passage in self._own.passages}
        self._evidence = [passage for passage in self._evidence if passage.text not in known]
        if not self._evidence:
            self._notices += self._without  # where others knew, a reader need not hear of them
            self._finish(self._own.passages)
            return
        texts = [passage.text for passage in self._evidence]
        names = list(map(above, self._evidence))
        weigh = Weigh(request=os.urandom(16), query=self._question, texts=texts, scorer=self._own.scorer, names=names)
        self._lookups.ask(weigh, self._on_scores)

    def _on_scores(self, outcome: list[float] | HocketError) -> None:
        assert self._own is not None
        if isinstance(outcome, HocketError):
            self._notices.append(f"evidence cannot be scored: {outcome.text}")
            self._finish(self._own.passages)
            return
        scored = [
            msgspec.structs.replace(passage, score=score)
            for passage, score in zip(self._evidence, outcome, strict=True)
        ]
        self._finish(sorted([*scored, *self._own.passages], key=lambda each: -each.score)[: self._k])

    def _finish(self, passages: list[Passage]) -> None:
        assert self._own is not None
        seconds = time.monotonic() - self._began_s
        found = msgspec.structs.replace(self._own, passages=passages, seconds=seconds)
        self._end(Gathered(found, self._matched, self._notices))

    def _end(self, outcome: Gathered | HocketError) -> None:
        if not self.closed:
            self.close()
            self._done(outcome)


def _as_read(passage: Passage, device: str) -> Passage:
    """Return a device's passage under its name, without the score that the device gave, and cut to MAX_CHARS."""
    return msgspec.structs.replace(passage, device=device, score=0.0, text=passage.text[:MAX_CHARS])
