"""A simulated race: the daemon's own race, books and policy over given first tokens, in virtual time. Pure.

What a daemon adds, such as messages on this machine and the interpreter, is not in it; the link's round trip is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

from hocket_bus.messages import Dispatch, Prompt, Sampling, Side
from hocket_daemon.dispatch.booking import UsageAccount
from hocket_daemon.dispatch.mode import LATEST
from hocket_daemon.dispatch.policies.account import Account
from hocket_daemon.dispatch.policies.cost import Costs, Tokens
from hocket_daemon.dispatch.policies.device_ttft import DeviceTtft
from hocket_daemon.dispatch.policies.dispatcher import Dispatcher
from hocket_daemon.dispatch.policies.profile import Lengths, ServerProfile
from hocket_daemon.dispatch.race import Action, Begin, Race
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.dispatch.terms import Terms
from hocket_lab.rehearsal.script import scripted

FREE = Costs(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_OPENING = Dispatch(
    session=bytes(16), epoch=0, prompt=Prompt(query=""), task="answer", sampling=Sampling(), documents=0, eos=[],
    relevance_temperature=1.0, wire_mass=1.0, writer="cloud",
)  # fmt: skip


class First(NamedTuple):
    """The beginning of an answer: seconds since the question, the side that won, and the sides that were asked."""

    ttft_s: float
    winner: Side
    asked: frozenset[Side]


class Simulated:
    """A pair and its questions, one after another. Times in seconds."""

    def __init__(
        self,
        settings: DispatchSettings,
        device_ttft: DeviceTtft,
        cloud_s: Sequence[float],
        rtt_s: float,
        script: str = "",
    ) -> None:
        """Take the device's seconds to its first token, and `cloud_s`, the cloud's for its n-th start."""
        self._device_ttft = device_ttft
        self._cloud_s = iter(cloud_s)
        self._rtt_s = rtt_s
        self._reported = ServerProfile()  # what the cloud has seen of itself
        self._dispatcher = Dispatcher(
            settings, FREE, Account(settings.budget, settings.burst_tokens),
            server_profile=ServerProfile(), device_ttft=DeviceTtft(), lengths=Lengths(),
        )  # fmt: skip
        self._script = script
        self._terms = Terms(
            dispatcher=self._dispatcher, migration="off", pace=settings.pace, opening=_OPENING, begins="race",
            cloud=None, min_evidence=-1.0, trusts=False, cloud_prompts=deque(maxlen=LATEST), booked=lambda: None,
        )  # fmt: skip

    def ask(self, prompt: int, answer: int) -> First:
        """Play a question whose prompt and answer have so many tokens, and return how its answer began."""
        self._dispatcher.server_profile.seed([each + self._rtt_s for each in self._reported.quantiles()])
        run = _Run(scripted(lambda: self._script).usage_account(self._terms, 0.0), prompt, self._first_s)
        run.to_the_first_token()
        winner, ttft_s = run.race.winner, run.books.ttft_s
        assert winner is not None
        assert ttft_s is not None
        asked = frozenset(run.due_s)
        if run.due_s.get("cloud", inf) <= ttft_s + self._rtt_s:  # it was on its way before the cloud heard
            self._reported.observe(run.due_s["cloud"] - run.cloud_began_s - self._rtt_s)
        run.books.close(self._tokens(run, winner, prompt), answer)
        return First(ttft_s, winner, asked)

    def _first_s(self, side: Side, prompt: int) -> float:
        """Return the seconds from the device's request to a side's first token there."""
        return self._device_ttft.at(prompt) if side == "device" else self._rtt_s + next(self._cloud_s)

    def _tokens(self, run: _Run, winner: Side, prompt: int) -> Tokens:
        """Return the tokens to book; an estimate for a cloud cancelled before it said how long its prompt is."""
        estimate = run.books.prompt_of("cloud")
        if winner == "cloud":
            estimate = prompt
            self._terms.cloud_prompts.append(prompt)
        return Tokens(
            device_prefilled=prompt if "device" in run.due_s else 0,
            server_prefilled=estimate if "cloud" in run.due_s else 0,
        )


class _Run:
    """An answer up to its first token."""

    def __init__(self, books: UsageAccount, prompt: int, first_s: Callable[[Side, int], float]) -> None:
        self.race = Race()
        self.books = books
        self.due_s: dict[Side, float] = {}  # the first token of each side that was asked
        self.cloud_began_s = 0.0
        self._prompt = prompt
        self._first_s = first_s
        self._now = 0.0

    def to_the_first_token(self) -> None:
        """Play the race to the first token, in the order of the daemon's leader."""
        if self.books.cloud_starts_at_once:
            self._do(self.race.start(0.0, {"cloud": 0.0}))
        self._do(self.race.start(0.0, self.books.decide(self._prompt, self._prompt)))
        while self.race.winner is None:
            side, due_s = min(self.due_s.items(), key=lambda each: each[1], default=(None, inf))
            self._now = min(due_s, self.race.due_s)
            if side is not None and due_s <= self.race.due_s:
                self.race.token(side, self._now)
                self.books.won(side, self._now)
            else:
                self._do(self.race.tick(self._now))

    def _do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Begin):
                self.books.began(action.side, self._now)
                self.due_s[action.side] = self._now + self._first_s(action.side, self._prompt)
                if action.side == "cloud":
                    self.cloud_began_s = self._now
