"""The part of one answer in budget, profiles and decision records. Knows no socket; times are passed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Migration, Side

from ..serving.mode import Facts
from .policies.cost import Bill, Tokens
from .policies.dispatcher import Decision
from .policies.policy import NEVER
from .terms import Terms
from .writers.work import Work
from .writers.writers import CloudWriter, OwnWriter


class UsageAccount:
    """The books of one answer, from its decision to its bill."""

    def __init__(self, terms: Terms, began_s: float) -> None:
        self.winner: Side | None = None
        self.ttft_s: float | None = None
        self.notices: list[str] = []  # what the reader was told
        self.reason = ""  # why the sides start when they do
        self.prompt = self.missing = 0  # tokens of this side's prompt, and of it those still to be computed
        self._terms = terms
        self._dispatcher = terms.dispatcher
        self._began_s = began_s
        self._since_s: dict[Side, float] = {}  # when a side was asked for the first token that it still owes
        self._decision: Decision | None = None
        self._reserved = 0.0  # prompt tokens that the account holds for the constrained side
        self._bill: Bill | None = None

    # --- the race

    @property
    def cloud_starts_at_once(self) -> bool:
        """Tell whether the cloud starts however long the prompt is, since the budget is the device's."""
        return self._dispatcher.constraint == "device"

    def decide(self, prompt: int, missing: int) -> dict[Side, float]:
        """Decide when each side starts, for a prompt of so many tokens, of which the device lacks `missing`."""
        self.prompt, self.missing = prompt, missing
        decision = self._decision = self._dispatcher.decide(prompt, missing, today())
        self.reason = decision.reason
        return {side: self._began_s + wait_s for side, wait_s in self.waits(decision).items()}

    def waits(self, decision: Decision) -> dict[Side, float]:
        """Return the seconds after the question at which each side is to start; NEVER for a side that is not to."""
        waits: dict[Side, float] = {"device": decision.waits.device_s, "cloud": decision.waits.server_s}
        constrained = self._dispatcher.constrained
        if waits[constrained] != NEVER and not self._reserve(constrained):
            waits[constrained] = NEVER
            self.reason = f"The {constrained} does not start: its budget is spent."
        return waits

    @property
    def limit(self) -> Unavailable | None:
        """The reason why nothing may be asked of the cloud for the rest of the day, if its dollars are spent."""
        account = self._dispatcher.account
        if not account.exhausted(today()):
            return None
        spent = f"${account.spent_today(today()):.4f} of ${account.max_per_day:g} a day are spent"
        return Unavailable(spent, "raise [dispatch] max_per_day, or wait for tomorrow")

    def began(self, side: Side, now: float) -> None:
        """Note that a side was asked for the first token; a fail-over that the account forbids is paid back later."""
        self._since_s[side] = now
        if side == self._dispatcher.constrained and not self._reserved:
            self._reserved = self.prompt_of(side)
            self._dispatcher.start(side, self._reserved)

    def won(self, side: Side, now: float) -> None:
        """Note that the first token came from this side."""
        self.winner, self.ttft_s = side, now - self._began_s
        began_s = self._since_s.pop(side, None)
        if began_s is not None and side == "device":
            self._dispatcher.observe_device(self.missing, now - began_s)
        elif began_s is not None:
            self._dispatcher.observe(now - began_s)
        self.let_go(now)

    def let_go(self, now: float) -> None:
        """Note that the cloud owes no first token any more."""
        began_s = self._since_s.pop("cloud", None)
        if began_s is not None:
            self._dispatcher.censor(now - began_s)

    # --- moves

    def prompt_of(self, side: Side) -> int:
        """Return the tokens that a side has to read before it can begin; for the cloud, as many as it may have."""
        return self.missing if side == "device" else self._terms.largest_prompt(self.prompt)

    def may_read(self, side: Side, tokens: int) -> bool:
        """Tell whether budget and dollars allow so many tokens for a side that is to go on."""
        if side == "cloud" and self.limit is not None:
            return False
        return self._dispatcher.may_start(side, tokens)

    # --- the end

    def close(self, tokens: Tokens, written: int | None) -> None:
        """Pay for what was computed; `written` is how long an answer is that was not cut short."""
        if written is not None:
            self._dispatcher.lengths.answered(written)
        self._bill = self._dispatcher.book(tokens, today(), reserved=self._reserved)
        self._terms.booked()

    def tokens_of(self, writer: OwnWriter, cloud: CloudWriter | None) -> Tokens:
        """Return the tokens to pay: what a device computes, in every row, and a server's whole prompts, once asked."""
        device, server = writer.work, _work_of(cloud)
        asked = cloud is not None and cloud.opened
        return Tokens(
            device_prefilled=device.prefilled,
            device_decoded=device.decoded * writer.rows,
            server_prefilled=max(server.prompt or self.prompt_of("cloud"), server.prefilled) if asked else 0,
            server_decoded=server.decoded,
            exact=cloud is None or not asked or cloud.has_reported_all,
        )

    def facts(self, writer: OwnWriter, cloud: CloudWriter | None, migrations: Sequence[Migration]) -> Facts:
        """Return the decision record, without text."""
        decision, device, server = self._decision, writer.work, _work_of(cloud)
        predicted = decision.predicted if decision is not None else {}
        return {
            "constraint": self._dispatcher.constraint,
            "policy": self._dispatcher.policy_name,
            "budget": self._dispatcher.account.budget,
            "predicted": {side: {"ttft_s": each.ttft_s, "cost": each.cost} for side, each in predicted.items()},
            "wait_s": _waits(decision),
            "winner": self.winner,
            "ttft_s": self.ttft_s,
            "loser_steps": device.late + server.late,
            "migrations": [
                {"step": each.step, "from": each.source, "to": each.target, "late_s": each.late_s}
                for each in migrations
            ],
            "prefilled": {"device": device.prefilled, "cloud": server.prefilled},
            "decoded": {"device": device.decoded, "cloud": server.decoded},
            "cost": asdict(self._bill) if self._bill is not None else None,
            "energy": "measured" if self._dispatcher.costs.measured else "modelled",
            "reason": self.reason,
            "notices": self.notices,
        }

    def _reserve(self, side: Side) -> bool:
        """Reserve the constrained side's prompt, counted as read from now on; tell whether the account allows it."""
        tokens = self.prompt_of(side)
        if not self._dispatcher.may_start(side, tokens):
            return False
        self._dispatcher.start(side, tokens)
        self._reserved = tokens
        return True


def _waits(decision: Decision | None) -> dict[str, Any]:
    """Return the waits by side; None stands for never, which JSON has no number for."""
    if decision is None:
        return {}
    waits = {"device": decision.waits.device_s, "cloud": decision.waits.server_s}
    return {side: None if wait_s == NEVER else wait_s for side, wait_s in waits.items()}


def _work_of(cloud: CloudWriter | None) -> Work:
    return cloud.work if cloud is not None else Work()


def today() -> int:
    """The day by which dollars are counted."""
    return date.today().toordinal()
