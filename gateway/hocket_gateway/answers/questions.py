"""Questions on behalf of people: limited, asked of the device daemon, and cancelled when nobody reads."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from hocket_bus import as_json
from hocket_bus.errors import Busy, HocketError, Unavailable
from hocket_bus.limits.shares import Bucket
from hocket_bus.messages import (
    AggregationOutcome,
    Done,
    Finish,
    Notice,
    Origin,
    Outcome,
    Thought,
    Token,
    Waiting,
)
from hocket_client import AsyncStream, Options

from ..access.people import People, Person
from ..http.refusals import Refusal
from ..settings import ServeSettings
from ..upstream import Upstream
from .marks import Marks
from .turns import Turns, nothing
from .ways import Way

FINISHES: Mapping[Finish, str] = {  # the words of both APIs
    "eos": "stop",
    "stop": "stop",
    "cancelled": "stop",
    "unknown": "stop",
    "length": "length",
}
KEPT_S = 5.0  # a place that is waited for; clients that retry come back sooner
AGAIN_S = 0.05
PAUSE_S = 1.0  # between two refusals of a key
ACCEPT_S = 10.0  # a daemon that is there takes a question, or refuses it, within milliseconds

log = structlog.get_logger(__name__)


class Answer:
    """The answer to one question as it comes. Its holder closes it."""

    def __init__(
        self,
        stream: AsyncStream,
        people: People,
        person: Person,
        way: Way,
        *,
        begun: Callable[[], None],
        over: Callable[[], None],
    ) -> None:
        """Set up an answer; `begun` is called at its first token, or at an end without one, and `over` at the end."""
        self.created_s = int(time.time())
        self.way = way
        self.notices: list[str] = []
        self.tokens: list[Token] = []  # so far, by their steps
        self.thoughts: list[str] = []  # before them
        self._stream = stream
        self._begun, self._over = begun, over
        self._people = people
        self._person = person
        self._began_s = time.monotonic()
        self._closed = False

    @property
    def number(self) -> str:
        """Return the answer's number, which `hocket explain` takes."""
        return self._stream.request.hex()

    async def events(self) -> AsyncIterator[Token | Thought | Waiting | Notice | Done]:
        """Yield every event, Done last. Raises Refusal for an error, also if the key is revoked meanwhile."""
        try:
            async for event in self._stream.events():
                self._people.check(self._person)
                if isinstance(event, Token):
                    self._begun()
                    self.tokens.append(event)
                elif isinstance(event, Thought):
                    self.thoughts.append(event.text)
                elif isinstance(event, Notice):
                    self.notices.append(event.text)
                yield event
        except HocketError as error:
            raise Refusal.of(error) from error

    async def done(self) -> Done:
        """Return the end of the answer. Raises as `events` does."""
        async for event in self.events():
            if isinstance(event, Done):
                return event
        raise AssertionError("a stream ends with Done")

    def facts(self, done: Done, marks: Marks | None = None) -> dict[str, Any]:
        """Return hocket's own data on an answer: its number, its notices, its mode, and its sources.

        Positions in the text are those of the text with `marks`.
        """
        shifted = (marks or Marks()).shifted
        return {
            "id": self.number,
            "mode": done.mode,
            "seed": done.seed,
            "notices": self.notices,
            "finish": done.finish,
            "routing": as_json.plain(done.routing),
            "unsupported": [[shifted(span.start), shifted(span.end)] for span in done.unsupported],
            "sources": shown_origins(done.sources),
            "members": _members(done.outcome),
        }

    def close(self) -> None:
        """Release the place in the limits; an answer that has not ended is cancelled."""
        if self._closed:
            return
        self._closed = True
        done = self._stream.done
        if done is None:
            self._stream.cancel()
        self._begun()
        self._over()
        facts = {"finish": done.finish, "tokens": len(done.token_ids)} if done else {"finish": "left"}
        seconds = round(time.monotonic() - self._began_s, 3)
        log.info("answered", id=self.number, person=self._person.name, model=self.way.id, seconds=seconds, **facts)


def of_token(token: Token) -> dict[str, Any]:
    """Return hocket's own data on a token: who proposed it, and where it comes from if that was requested."""
    places = {"places": shown_origins(token.places)} if token.places else {}
    shares = {"shares": [round(share, 4) for share in token.shares]} if token.shares else {}
    return {"source": token.source, **places, **shares}


def shown_origins(origins: Sequence[Origin]) -> list[dict[str, Any]]:
    """Return passages by their places, with their shares."""
    names = ("side", "device", "document", "ordinal", "share")
    return [{name: getattr(each, name) for name in names} for each in origins]


def _members(outcome: Outcome | None) -> list[dict[str, Any]]:
    """Return the members that drafted along, from which step to which, and how often their draft was the token."""
    members = outcome.members if isinstance(outcome, AggregationOutcome) else []
    return [as_json.plain(each) for each in members]


class Limits:
    """Limits on each person's questions at once and per minute. Repeated refusals of a person are delayed."""

    def __init__(self, at_once: int, a_minute: int) -> None:
        self._at_once = at_once
        self._a_minute = a_minute
        self._in_work: Counter[str] = Counter()
        self._waiting: dict[str, float] = {}  # whom the daemon had no place for, and until when one is kept
        self._buckets: dict[str, Bucket] = {}
        self._paused: dict[str, float] = {}  # whom a limit has refused, and until when it is not refused again

    async def enter(self, person: Person) -> None:
        """Count a question. Raises Refusal at a limit; a person refused a moment ago waits and is tried once more."""
        pause_s = self._paused.get(person.account, 0.0) - time.monotonic()
        try:
            self._try(person)
        except Refusal:
            if pause_s <= 0:
                raise
            await asyncio.sleep(pause_s)
            self._try(person)

    def _try(self, person: Person) -> None:
        try:
            self._enter(person)
        except Refusal:
            self._paused[person.account] = time.monotonic() + PAUSE_S
            raise

    def _enter(self, person: Person) -> None:
        now, most = time.monotonic(), person.at_once or self._at_once
        if self._in_work[person.account] >= most:
            raise Refusal(
                429, f"{most} questions of this key are in progress", "wait for one", "busy", retry_after_s=1.0
            )
        if self._comes_behind(person, now):
            raise Refusal(
                429,
                "another key with fewer questions in progress is waiting",
                "wait a moment",
                "busy",
                retry_after_s=1.0,
            )
        rate = self._a_minute / 60
        bucket = self._buckets.setdefault(person.account, Bucket(rate, self._a_minute, now))
        if (left := bucket.spend(1, now)) < 0:
            bucket.spend(-1, now)
            text = f"this key asked {self._a_minute} questions within a minute"
            raise Refusal(429, text, "ask less often", "busy", retry_after_s=-left / rate)
        self._in_work[person.account] += 1

    def wait(self, person: Person) -> None:
        """Note that the daemon was full: for a while nobody with more in work goes before this person."""
        self._waiting[person.account] = time.monotonic() + KEPT_S

    def has_fewer(self, person: Person) -> bool:
        """Tell whether another person has more in work."""
        return max(self._in_work.values(), default=0) > self._in_work[person.account]

    def begun(self, person: Person) -> None:
        """Note that the daemon had a place."""
        self._waiting.pop(person.account, None)

    def _comes_behind(self, person: Person, now: float) -> bool:
        """Tell whether somebody waits who has fewer in work."""
        own = self._in_work[person.account]
        waiting = (name for name, until_s in self._waiting.items() if until_s > now)
        return any(self._in_work[name] < own for name in waiting)

    def leave(self, person: Person) -> None:
        """Note that a question has ended."""
        self._in_work[person.account] -= 1


def _within(person: Person, wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders that a person with folders reads: those that are `wanted`, or all. Raises Refusal."""
    if not wanted:
        return person.folders
    if not all(person.may_read(each.rstrip("/")) for each in wanted):
        raise Refusal(403, "within names what this key may not read", "leave it out", "not_allowed", param="within")
    return tuple(wanted)


class Questions:
    """A sender of questions to the device daemon, within the limits."""

    def __init__(self, settings: ServeSettings, upstream: Upstream, people: People) -> None:
        self._settings = settings
        self._upstream = upstream
        self._people = people
        self._limits = Limits(settings.at_once, settings.a_minute)
        self._turns = Turns()

    async def ask(self, person: Person, way: Way, options: Options, question: str | None = None) -> Answer:
        """Ask the daemon; return the answer that it has begun. `options` come from the request. Raises Refusal."""
        await self._limits.enter(person)
        begun: Callable[[], None] = nothing
        try:
            begun = await self._turns.enter(person.account)
            stream = await self._begin_in_turn(person, self._completed(person, way, options), question)
        except BaseException as error:
            begun()
            self._limits.leave(person)
            if isinstance(error, HocketError):
                raise Refusal.of(error) from error
            raise
        return Answer(stream, self._people, person, way, begun=begun, over=partial(self._limits.leave, person))

    def _completed(self, person: Person, way: Way, options: Options) -> Options:
        """Complete the options by those of the way, the person and the settings."""
        full = options.copy()
        full["mode"], full["alone"] = way.mode, way.alone
        full["deadline_s"] = self._settings.deadline_s
        full.setdefault("max_tokens", self._settings.max_tokens)
        full["asker"] = person.name
        if person.folders:
            full["within"] = _within(person, full.get("within", ()))
        return full

    async def _begin_in_turn(self, person: Person, options: Options, question: str | None) -> AsyncStream:
        """Begin an answer. If the daemon is full and another key has more in work, wait for the next place."""
        until_s, waits = time.monotonic() + KEPT_S, False
        while True:
            try:
                stream = await self._begin(options, question)
            except Busy:
                self._limits.wait(person)
                # Once it waits it goes on: that the other key has fewer now is known here before the place is free.
                waits = waits or self._limits.has_fewer(person)
                if time.monotonic() > until_s or not waits:
                    raise
                await asyncio.sleep(AGAIN_S)
            else:
                self._limits.begun(person)
                return stream

    async def _begin(self, options: Options, question: str | None) -> AsyncStream:
        stream = (await self._upstream.client()).ask(question, **options)
        try:
            if not await stream.accepted(ACCEPT_S):
                raise Unavailable("the device daemon does not answer", "look at: hocket status")
        except BaseException:
            stream.cancel()
            raise
        return stream
