"""The draft exchange of one session, as one party sees it: rules R1–R6 of docs/aggregation.md.

A pure state machine: drafts and targets in, confirmed tokens out. It knows nothing of sockets, models or clocks. Alone
it is a session of one party; a pair is one of two, and both judge; in a group of any number the asked device judges
alone, and does not wait for a draft that cannot change the token.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hocket_bus.messages import Method, Side, Source

from ...engine.sampling.drawing import draw
from ...engine.sampling.heads import Made, Probabilities, Table, within
from ...engine.sampling.ranking import UNRANKED, Ranking, ranking
from ...engine.text.word_draw import Proposal
from ...privacy.history import CLOUD
from ...serving.records.sources import Trace
from ...serving.stream.prefix import PrefixChain
from .lookahead import MAX_LOOKAHEAD, draft_window
from .parties import LEADER, Part, Parties
from .sampler import foregone, mixture
from .schedule import other
from .session_terms import Confirmed, Draft, Law, SessionTerms, tokens_of

_DRAFT_AHEAD: tuple[Method, ...] = ("coupled", "independent")


class Exchange:
    """The part of the draft exchange that one party holds."""

    def __init__(self, side: Side, terms: SessionTerms) -> None:
        self.window = 4 if terms.method in _DRAFT_AHEAD else 1
        self.corrections = 0
        self.rollbacks = 0
        self.confirmed = PrefixChain(terms.session, terms.rule.seed)
        self.drafted = PrefixChain(terms.session, terms.rule.seed)  # always extends `confirmed`
        self.traces: list[Trace] = []  # of the confirmed tokens
        self._side = side
        self._name, self._peer = (LEADER, CLOUD) if side == "device" else (CLOUD, LEADER)
        self._terms = terms
        self.parties = Parties(self._name, terms, {self._peer} if terms.judges == "both" else ())
        self._own: dict[int, Draft] = {}
        self._rows: dict[int, Probabilities] = {}  # what each row gives to an own draft that is not confirmed
        self._targets: dict[int, int] = {}

    @property
    def ended(self) -> bool:
        """Tell whether the confirmed tokens end the answer: the last is an EOS, or there is no room for more."""
        ids = self.confirmed.ids
        return len(ids) >= self._terms.max_tokens or bool(ids and ids[-1] in self._terms.eos)

    @property
    def solo(self) -> bool:
        """Tell whether the next token is drawn from the own distribution alone, as nobody else takes part (R6)."""
        return not self.parties.present

    @property
    def sends_drafts(self) -> bool:
        """Tell whether this side sends drafts: a device that aggregates alone, as in `sync`, keeps them to itself."""
        return self._side == "cloud" or (self._terms.shares_drafts and self._terms.method != "sync")

    @property
    def expected(self) -> tuple[float | None, float | None]:
        """The share of the device's and of the cloud's drafts that Eq. 5 expects to be accepted, where it applies."""
        return None, None

    @property
    def out_of_step(self) -> bool:
        """Tell whether the other side of a pair, in its last message, had tokens that this one does not have."""
        return not self._agrees(self._peer)

    def settled(self, name: str) -> int:
        """Return the number of confirmed tokens that a party had, too, in its last message."""
        confirmed = self.parties.confirmed_by(name)
        return confirmed[0] if confirmed is not None and self._agrees(name) else 0

    def go_alone(self, alone: bool) -> None:
        """Draw from p_device only, on the device of a pair, or stop doing so (R6)."""
        self.parties.set_present(() if alone else (self._peer,))

    def pace(self, rtt_s: float, decode_s: float, max_lookahead: int = MAX_LOOKAHEAD) -> None:
        """Set the window by the time that a round trip and a decode step take now; it changes speed, never tokens."""
        if self._terms.method in _DRAFT_AHEAD:
            self.window = draft_window(rtt_s, decode_s, max_lookahead)

    def next_step(self) -> int | None:
        """Return the step to draft next, after `drafted`, or None while there is nothing to draft."""
        ids = self.drafted.ids
        ahead = len(ids) - len(self.confirmed)
        if ahead >= self.window or len(ids) >= self._terms.max_tokens or (ids and ids[-1] in self._terms.eos):
            return None
        return len(ids)

    def add_own(
        self,
        step: int,
        prefix: int,
        distribution: Law,
        log_h: float | None,
        decode_s: float,
        *,
        parts: Probabilities | None = None,
    ) -> Draft | None:
        """Draw the own draft of `step` after `prefix` from a law; None when that prefix no longer holds.

        `parts` is what each row gives to it, [rows, ids].
        """
        if step != len(self.drafted) or prefix != self.drafted.digest:
            return None
        token = self._draw(step, distribution)
        own = self._own[step] = Draft(step, prefix, token, distribution, log_h, decode_s)
        if parts is not None:
            self._rows[step] = parts
        self.drafted.append(token)
        return own

    def concedes(self, step: int, prefix: int, bound: Proposal, log_h: float | None) -> bool:  # noqa: ARG002
        """Tell whether an own draft whose probability is at most the `bound`'s cannot be the token of the next step."""
        return False

    def add_draft(self, name: str, draft: Draft, confirmed: int, digest: int) -> None:
        """Store a draft of another party, which has confirmed `confirmed` tokens, of that `digest`."""
        self.parties.add_confirmed(name, confirmed, digest)
        self.parties.add_draft(name, draft, len(self.confirmed))

    def add_target(self, first: int, ids: list[int], digest: int) -> None:
        """Take the asked device's final tokens; cut back to the first token that differs from them (R5)."""
        self.parties.add_confirmed(LEADER, first + len(ids), digest)
        for step, token in enumerate(ids, start=first):
            if step < len(self.confirmed) and self.confirmed.ids[step] != token:
                self.corrections += 1
                self._cut(step)
            if len(self.confirmed) <= step < self._terms.max_tokens:
                self._targets[step] = token

    def advance(self) -> list[Confirmed]:
        """Confirm every step that the drafts of all parties, or the asked device's final tokens, decide.

        It stops before a token that shows that a party steers: `parties.steers`.
        """
        news: list[Confirmed] = []
        while not (self.ended or self.parties.steers):
            confirmed = self._judge(len(self.confirmed))
            if confirmed is None or self._watch(confirmed):
                break
            self.traces.append(self._trace(confirmed))
            self._confirm(confirmed.token)
            news.append(confirmed)
        self._forget()
        return news

    def drafts_from(self, from_step: int) -> list[Draft]:
        """Return own drafts from a step on, in order, as the answer to a Sync (R3)."""
        return [self._own[step] for step in sorted(self._own) if step >= from_step]

    def lacking(self) -> set[str]:
        """Return the parties whose draft of the next step is missing while the own one is there."""
        step = len(self.confirmed)
        return self.parties.lacking(step, self.confirmed.digest) if step in self._own and not self.ended else set()

    def awaits_peer(self) -> bool:
        """Tell whether the next step lacks nothing but another party."""
        return bool(self.lacking())

    def _agrees(self, name: str) -> bool:
        """Tell whether this side has all tokens that a party had in its last message."""
        length, digest = self.parties.confirmed_by(name) or (0, self.confirmed.at(0))
        return length <= len(self.confirmed) and self.confirmed.at(length) == digest

    def _draw(self, step: int, law: Law) -> int:
        distribution = tokens_of(law)
        return draw(self._terms.rule, step, distribution.ids, distribution.probabilities)

    def _judge(self, step: int) -> Confirmed | None:
        if step in self._targets:
            return self._proposed(step, self._targets[step])
        own = self._own_draft(step)
        if own is not None and self.solo:
            return Confirmed(step, own.token, "solo", own=True, remote=False, drafted=frozenset((self._name,)))
        if own is None or (self._side == "cloud" and self._terms.method == "sync"):
            return None
        token = self._token(step, self.parties.weighed(own))
        return None if token is None else self._proposed(step, token)

    def _token(self, step: int, parts: list[Part]) -> int | None:
        """Return the token of a step; None where it, or its law if asked for, depends on what has not come."""
        if not parts:
            return None
        law, unknown = _mixed(parts), sum([part.eta for part in parts if part.draft is None])
        if not unknown:
            return draw(self._terms.rule, step, *law)
        return foregone(self._terms.rule, *law, unknown) if self._terms.logprobs is None else None

    def _proposed(self, step: int, token: int) -> Confirmed:
        """Return a token as confirmed, with who has drafted it."""
        prefix, own = self.confirmed.digest, self._own_draft(step)
        others = [(name, self.parties.draft_of(name, step, prefix)) for name in self.parties.present]
        remote = [name for name, draft in others if draft is not None and draft.token == token]
        is_own = own is not None and own.token == token
        drafted = frozenset([self._name, *remote] if is_own else remote)
        source = source_of(self._side, own=is_own, remote=bool(remote))
        return Confirmed(step, token, source, is_own, bool(remote), drafted)

    def _watch(self, confirmed: Confirmed) -> bool:
        own = self._own_draft(confirmed.step)
        return own is not None and self.parties.watch(own, confirmed.token)

    def _trace(self, confirmed: Confirmed) -> Trace:
        own = self._own_draft(confirmed.step)
        rows = self._rows_of(own, confirmed)
        if own is None or not (weighed := self.parties.weighed(own)):
            return Trace(0.0, rows, drafted=confirmed.drafted)
        had = [part.of(confirmed.token) for part in weighed]
        total = sum(had) or 1.0
        others = {part.name: each / total for part, each in zip(weighed, had, strict=True)}
        own_part = others.pop(self._name)
        if LEADER in others:  # the leader's part is the one that both sides compute alike
            own_part = 1.0 - others[LEADER]
        return Trace(own_part, rows, self._ranking(confirmed.token, weighed), others, confirmed.drafted)

    def _rows_of(self, own: Draft | None, confirmed: Confirmed) -> Table | None:
        """Return the part of each own row in the own draft's probability of the token, where it is known."""
        if own is None or confirmed.step not in self._rows:
            return None
        return within(Made(tokens_of(own.distribution), self._rows[confirmed.step]), confirmed.token)

    def _ranking(self, token: int, weighed: list[Part]) -> Ranking:
        """Rank the token in the mixture that it was drawn from."""
        most = self._terms.logprobs
        if most is None:
            return UNRANKED
        ids, law = _mixed(weighed)
        return ranking(ids, law / law.sum(), token, most)

    def _own_draft(self, step: int) -> Draft | None:
        found = self._own.get(step)
        return found if found is not None and found.prefix == self.confirmed.digest else None

    def _confirm(self, token: int) -> None:
        step = len(self.confirmed)
        self.confirmed.append(token)
        self._rows.pop(step, None)  # they have been traced
        self.parties.drop(step)
        self._targets.pop(step, None)
        if len(self.drafted) <= step or self.drafted.ids[step] != token:  # own draft rejected
            self.rollbacks += len(self.drafted) > step
            self.drafted.cut(step)
            self.drafted.append(token)
            self._drop_own(step + 1)

    def _cut(self, length: int) -> None:
        self.confirmed.cut(length)
        self.drafted.cut(length)
        del self.traces[length:]
        self._drop_own(length)

    def _drop_own(self, from_step: int) -> None:
        for step in [step for step in self._own if step >= from_step]:
            del self._own[step]
            self._rows.pop(step, None)

    def _forget(self) -> None:
        """Forget own drafts whose step this side and all others have confirmed, or that are sent to nobody (R2)."""
        confirmed = len(self.confirmed)
        if not self._own or next(iter(self._own)) >= confirmed:
            return
        sends = self.sends_drafts and not self.solo
        settled = min(confirmed, self.parties.confirmed_by_all()) if sends else confirmed
        while self._own and (oldest := next(iter(self._own))) < settled:
            del self._own[oldest]


def source_of(side: Side, *, own: bool, remote: bool) -> Source:
    """Return who proposed a token that was confirmed on `side`, and equals its own draft or another one."""
    return "both" if own and remote else side if own else other(side) if remote else "resampled"


def _mixed(parts: list[Part]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return mixture([(part.eta, tokens_of(part.draft.distribution)) for part in parts if part.draft is not None])
