"""The records of an answered question: for the reader, with its Done, and for `hocket explain`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from hocket_bus.messages import AggregationOutcome, Method, Ready, Side

from ..serving.mode import Facts, question_of
from ..serving.records.sources import PeerSources, by_token, sourced
from ..serving.session_account import SessionAccount
from ..serving.stream.reply import Reply, Sourced
from .drafter import Drafter
from .exchange.session_terms import Confirmed
from .partner import Action, GiveUp, GoAlone, Join, Leave, Rejoin, Warn

MIN_CHARGE = 0.1  # bits of a word that is named: less would name nearly all
END = "(the end)"  # in place of a word, where the answer ends
MAX_EVENTS = 200  # of the link that are kept; a link that breaks all the time breaks alike
_NAMES: dict[type[Action], str] = {Join: "asked to take part", Rejoin: "asked again", GoAlone: "continued alone"}


class AnswerSummary:
    """The events between the sides while an answer was written."""

    def __init__(self) -> None:
        self._events: list[tuple[float, str]] = []

    def note(self, t_s: float, action: Action) -> None:
        """Note an action that was decided `t_s` seconds after the question."""
        match action:
            case Warn(text):
                what = text
            case Leave(reason):
                what = f"left: {reason}"
            case GiveUp(error):
                what = str(error)
            case _:
                what = _NAMES[type(action)]
        self.note_text(t_s, what)

    def note_text(self, t_s: float, what: str) -> None:
        """Note an event in words, `t_s` seconds after the question."""
        if len(self._events) < MAX_EVENTS:
            self._events.append((round(t_s, 4), what))

    def of_leader(
        self, reply: Reply, drafter: Drafter, steps: Sequence[Confirmed], ready: Ready | None, rtt_s: float
    ) -> Facts:
        """Return the record of a session on the side that was asked; `ready` is what the other side reported."""
        outcome = outcome_of(drafter, steps)
        return {
            **question_of(reply.ask),
            "ended": reply.finished,
            "tokens": len(reply.tokens),
            **_routed(reply),
            **_decided(drafter),
            **_written(outcome),
            "links": [{"t_s": t_s, "what": what} for t_s, what in self._events],
            "rtt_s": rtt_s,
            "cloud": _ready(ready),
            **_found(drafter),
            "times_s": {
                "search": drafter.retrieval_s,
                "prefill": drafter.prefill_s,
                "first token": reply.times_s[0] if reply.times_s else None,
                "all": reply.age_s,
            },
        }


def of_follower(drafter: Drafter, steps: int, seconds: float, ended: str) -> Facts:
    """Return the record of a session on the side that drafted along: numbers, and names of its own documents."""
    return {
        "ended": ended,
        "tokens": steps,
        **_decided(drafter),
        "drafts": {"own": drafter.drafts, "other": drafter.dialogue.remote_drafts},
        **_found(drafter),
        "times_s": {"search": drafter.retrieval_s, "prefill": drafter.prefill_s, "all": seconds},
    }


def outcome_of(drafter: Drafter, steps: Sequence[Confirmed]) -> AggregationOutcome:
    """Summarise how the sides wrote an answer of these steps."""
    expected = drafter.dialogue.exchange.expected
    return AggregationOutcome(
        method=_method(drafter.begin.method, steps),
        accept_device=_share(steps, lambda step: step.own),
        accept_cloud=_share(steps, lambda step: step.remote),
        solo_steps=[step.step for step in steps if step.source == "solo"],
        drafts_device=drafter.drafts,
        drafts_cloud=drafter.dialogue.remote_drafts,
        expect_device=expected[0],
        expect_cloud=expected[1],
    )


def charged_words(account: SessionAccount | None, reply: Reply, steps: Sequence[int]) -> Facts:
    """Return the answer's words that cost bits, in its order; `steps` are those of the reply's tokens."""
    if account is None:
        return {}
    ids: dict[int, list[int]] = defaultdict(list)
    for token, step in zip(reply.tokens, steps, strict=False):  # a withheld answer has no steps
        ids[step].append(token)
    charged = [(step, bits) for step, bits in sorted(account.by_step.items()) if bits >= MIN_CHARGE and step in ids]
    return {"words": [{"word": reply.text_of(ids[step]) or END, "bits": round(bits, 2)} for step, bits in charged]}


def sources_of(side: Side, drafter: Drafter, steps: Sequence[int], reported: PeerSources | None) -> Sourced:
    """Return the sources of tokens that belong to `steps`; `reported` is the other side's report on its passages."""
    traces = [drafter.dialogue.exchange.traces[step] for step in steps]
    return sourced(side, drafter.found, traces, by_token(reported, steps))


def _method(method: Method, steps: Sequence[Confirmed]) -> Method | Literal["alone"]:
    return method if any(step.source != "solo" for step in steps) else "alone"


def _share(steps: Sequence[Confirmed], accepted: Callable[[Confirmed], bool]) -> float | None:
    joint = [step for step in steps if step.source != "solo"]
    return sum(map(accepted, joint)) / len(joint) if joint else None


def _routed(reply: Reply) -> Facts:
    """Return the route of the question, where one was chosen."""
    routing = reply.routing
    if routing is None:
        return {}
    gate = msgspec.structs.asdict(routing.gate) if routing.gate else None
    return {"way": routing.way, "why": routing.why, "devices": routing.matched, "gate": gate}


def _decided(drafter: Drafter) -> Facts:
    begin = drafter.begin
    sampling = begin.sampling
    drawing = {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": sampling.seed}
    decided = {"asked for": begin.method, "unit": begin.unit, "weights": begin.weights, "drawing": drawing}
    if drafter.account is None:
        return decided
    return {**decided, "disclosed": [{"document": name, "bits": each} for name, each in drafter.account.spent.items()]}


def _written(outcome: AggregationOutcome) -> Facts:
    solo = outcome.solo_steps
    return {
        "method": outcome.method,
        "accepted": {"device": outcome.accept_device, "cloud": outcome.accept_cloud},
        "expected": {"device": outcome.expect_device, "cloud": outcome.expect_cloud},
        "drafts": {"own": outcome.drafts_device, "other": outcome.drafts_cloud},
        "solo": {"steps": len(solo), "first": solo[0] if solo else None, "last": solo[-1] if solo else None},
    }


def _ready(ready: Ready | None) -> Facts | None:
    if ready is None:
        return None
    return {
        "passages": ready.documents,
        "scorer": ready.scorer,
        "times_s": {"search": ready.retrieval_s, "prefill": ready.prefill_s},
    }


def _found(drafter: Drafter) -> Facts:
    """The passages of this side, without their text, and what each weighs by the question alone."""
    found, weights = drafter.passages, drafter.weights
    if found is None or weights is None:
        return {"scorer": None, "log_h": None, "passages": []}
    passages: list[dict[str, Any]] = [
        {"document": passage.document, "number": passage.ordinal, "score": passage.score, "weight": weight}
        | ({"device": passage.device} if passage.device else {})
        for passage, weight in zip(found.passages, weights.static.documents, strict=True)
    ]
    return {"scorer": found.scorer, "log_h": weights.static.log_h, "passages": passages}
