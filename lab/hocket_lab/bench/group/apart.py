"""Speed of a group with each member on a machine of its own: the daemons' state machines in virtual time.

The distributions of a party come from a real model. The questions are SQuAD's, whose paragraphs are dealt to the
devices; a party is asked after every prefix that a run comes to, wrong guesses as well. simulator/group.py describes
what takes time and what takes none. A group is compared with two sides of the same two parties, and with the bound that
no group can be below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from rich.progress import track

from hocket_bus.messages import DEFAULT_WEIGHTS, Begin, Prompt, Sampling
from hocket_daemon.aggregation.exchange.sampler import etas, mixture
from hocket_daemon.aggregation.settings import AggregationSettings, GroupSettings
from hocket_daemon.aggregation.weights.likelihood_ratio import advantages, steps_of
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.engine.sampling.drawing import Rule, draw
from hocket_daemon.serving.search.passage_weights import explained
from hocket_lab.bench.group.answers import libraries
from hocket_lab.bench.group.model import opened
from hocket_lab.bench.group.worlds import Asked, squad
from hocket_lab.bench.parties.parties import Parties, Scores, Texts
from hocket_lab.bench.running.product import DOCUMENTS, TEMPERATURE, TOP_P
from hocket_lab.reporting.report import Report, Row, bootstrap, percentile
from hocket_lab.simulator.group import Group, Law, Place, Run, Sides, Weather
from hocket_tools import console

GROUP, SIDES = "group", "two sides"
JITTER = 0.1  # of a one-way delay
AT_ONCE = 4
COLUMNS = ("line", "rtt_ms", "answers", "first_token_ms", "first_floor_ms", "ms_per_token", "low", "high", "p50", "p95",
           "floor_ms", "rejected_ms", "window_ms", "other_ms", "stalled", "decided", "accepted_asked",
           "accepted_others", "wasted")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings: numbers of parties, round trips and step time in ms; questions of each of SQuAD's sets, and tokens."""

    parties: Sequence[int]
    rtt: Sequence[int]
    hold: float
    answers: int
    tokens: int
    half: str
    model: str
    dtype: str
    seed: int

    @property
    def ways(self) -> list[tuple[str, int, int]]:
        """(way, parties, round trip), the longest first: what is drafted along a wrong guess is known by then."""
        lines = [(SIDES, 2), *((GROUP, number) for number in self.parties)]
        return [(*line, rtt) for rtt in sorted(self.rtt, reverse=True) for line in lines]


class Recorded:
    """The parties' distributions for one question, after every prefix that was asked for."""

    def __init__(
        self, asked: Asked, law: Parties, texts: Sequence[Texts], settings: Settings, ends: Sequence[int]
    ) -> None:
        self.asked, self.laws = asked, dict[Place, Law]()
        written = law.begin(asked.text, texts, Rule(settings.seed, TEMPERATURE, TOP_P))
        self.writing = replace(written, more=[0.0] * len(texts))  # whoever aggregates adds them, of those who are there
        self.likelihoods = [explained(group.likelihoods) for group in written.groups]
        self._settings, self._ends = settings, ends

    def begin(self) -> Begin:
        """Return the message that begins the question, as the product asks it."""
        settings, seed, tokens = AggregationSettings(), self._settings.seed, self._settings.tokens
        sampling = Sampling(seed=seed, temperature=TEMPERATURE, top_p=TOP_P, max_tokens=tokens)
        return Begin(
            session=bytes(16),
            epoch=0,
            prompt=Prompt(query=self.asked.text),
            task="answer",
            sampling=sampling,
            method="coupled",
            documents=DOCUMENTS,
            eos=list(self._ends),
            weights=DEFAULT_WEIGHTS,
            reweigh_every=settings.reweigh_every,
            relevance_temperature=settings.relevance_temperature,
            wire_mass=settings.wire_mass,
            contrast=settings.contrast,
        )

    def run(self, way: str, parties: int, weather: Weather) -> Run:
        """Return the run of an answer that begins now, by two sides or a group."""
        kind = Sides if way == SIDES else Group
        return kind(self.begin(), self.likelihoods[:parties], self.laws, weather)


class Mixed:
    """The same answer by one process that has every party's distributions, given who took part in each step."""

    def __init__(self, recorded: Recorded, roster: Sequence[tuple[int, ...]]) -> None:
        self.ids: list[int] = []
        self.decided: list[bool] = []  # of the steps at which a member's draft was not the token: see `is_decided`
        self._recorded, self._roster = recorded, roster

    def advance(self) -> list[Place]:
        """Go on until the answer is complete, or return the places whose distributions are missing."""
        for others in self._roster[len(self.ids) :]:
            places = [Place(party, tuple(self.ids)) for party in (0, *others)]
            if missing := [place for place in places if place not in self._recorded.laws]:
                return missing
            laws = [self._recorded.laws[place] for place in places]
            parts = [(share, law.distribution) for share, law in zip(self._shares(places, laws), laws, strict=True)]
            self._add(parts)
        return []

    def _add(self, parts: list[tuple[float, Distribution]]) -> None:
        step, rule = len(self.ids), self._recorded.writing.rule
        token = draw(rule, step, *mixture(parts))
        right = [draw(rule, step, law.ids, law.probabilities) == token for _, law in parts]
        if not all(right[1:]):
            known = [part for at, part in enumerate(parts) if at == 0 or right[at]]
            self.decided.append(is_decided(known, token))
        self.ids.append(token)

    def _shares(self, places: Sequence[Place], laws: Sequence[Law]) -> list[float]:
        steps = [steps_of(self._recorded.likelihoods[place.party]) for place in places]
        more = advantages(steps) if len(places) > 1 else [0.0]
        logs = [None if law.log_h is None else law.log_h + by for law, by in zip(laws, more, strict=True)]
        return etas(logs, GroupSettings().most_say if len(places) > 2 else 1.0)


def is_decided(known: Sequence[tuple[float, Distribution]], token: int) -> bool:
    """Tell whether `token` is the likeliest, whatever the parties say whose (η, p) are not among the `known`."""
    ids, probabilities = mixture(known)
    rivals = probabilities[ids != token]
    own = float(probabilities[ids == token].sum())
    missing = 1.0 - sum(eta for eta, _ in known)
    return own - (float(rivals.max()) if len(rivals) else 0.0) > missing


Answering = Run | Mixed


def measure(report: Report, data: Path, settings: Settings) -> None:
    """Add a row for each question, way, number of parties and round trip."""
    most = max(2, *settings.parties)
    devices = [f"device-{number}" for number in range(1, max(4, most) + 1)]
    world = squad(data, settings.half, settings.answers, settings.seed, devices)
    missing = [one for one in world.asked if any(_known(report, one, *way) is None for way in settings.ways)]
    if not missing:
        return
    beside = report.path.with_suffix(".documents") if report.path is not None else None
    with ExitStack() as stack:
        (library,) = stack.enter_context(libraries([world], beside))
        model = stack.enter_context(opened(settings.model, settings.dtype, AT_ONCE * most * (DOCUMENTS + 1)))
        starts = range(0, len(missing), AT_ONCE)
        for first in track(starts, "questions", console=console.err()):
            some = [(one, library.found(one)[:most]) for one in missing[first : first + AT_ONCE]]
            with _recorded(model, library.together.weigh, some, settings) as (law, recorded):
                for way in settings.ways:
                    new = [one for one in recorded if _known(report, one.asked, *way) is None]
                    report.extend(_measured(law, new, settings, way))


def _known(report: Report, asked: Asked, way: str, parties: int, rtt: int) -> Row | None:
    return report.find(question=asked.text, way=way, parties=parties, rtt_ms=rtt)


@contextmanager
def _recorded(
    model: LanguageModel, scores: Scores, some: Sequence[tuple[Asked, list[Texts]]], settings: Settings
) -> Iterator[tuple[Parties, list[Recorded]]]:
    """Yield the parties, and the questions that all of them have read."""
    with ExitStack() as stack:
        law = Parties([model] * len(some[0][1]), scores, settings.tokens)
        recorded = [Recorded(asked, law, texts, settings, model.eos) for asked, texts in some]
        for one in recorded:
            stack.callback(one.writing.close)
        yield law, recorded


def _measured(
    law: Parties, recorded: Sequence[Recorded], settings: Settings, key: tuple[str, int, int]
) -> Iterator[Row]:
    way, parties, rtt = key
    weather = Weather(settings.hold / 1000, rtt / 2000, JITTER, settings.seed)
    runs = [one.run(way, parties, weather) for one in recorded]
    _answer(law, recorded, runs)
    mixed = [Mixed(one, run.roster) for one, run in zip(recorded, runs, strict=True)]
    _answer(law, recorded, mixed)
    for one, run, reference in zip(recorded, runs, mixed, strict=True):
        yield {"way": way, "parties": parties, "rtt_ms": rtt, "question": one.asked.text, "set": one.asked.of,
               "equal": run.ids == reference.ids, "decided": fmean(reference.decided) if reference.decided else None,
               **_figures(run, settings.hold)}  # fmt: skip


def _answer(law: Parties, recorded: Sequence[Recorded], answers: Sequence[Answering]) -> None:
    """Carry all answers to their end; each party of each question is asked for one place at a time."""
    pairs = list(zip(recorded, answers, strict=True))
    while waiting := [(one, missing) for one, answer in pairs if (missing := answer.advance())]:
        wanted = [(one, place) for one, missing in waiting for place in missing]
        drafts = law.drafts([(one.writing, place.party, list(place.ids)) for one, place in wanted])
        for (one, place), draft in zip(wanted, drafts, strict=True):
            one.laws[place] = Law(draft.distribution, draft.log_h)


def _figures(run: Run, hold: float) -> Row:
    """Return the figures of one answer; milliseconds are per token after the first."""
    waited = [(1000 * each.seconds, each.cause) for each in run.waited]
    behind = waited[1:]
    lost = {
        cause: sum(ms - hold for ms, each in behind if each == cause) / max(1, len(behind))
        for cause in ("rejected", "window")
    }
    all_ms = sum(ms for ms, _ in behind) / len(behind) if behind else None
    own, *others = run.accepted
    drafts = sum(machine.drafts for machine in run.machines)
    return {
        "tokens": len(run.ids),
        "first_token_ms": waited[0][0],
        "ms_per_token": all_ms,
        "longest_ms": max((ms for ms, _ in behind), default=None),
        **{f"{cause}_ms": ms for cause, ms in lost.items()},
        "other_ms": None if all_ms is None else all_ms - hold - sum(lost.values()),
        "stalled": fmean(run.stalled),
        "accepted_asked": own,
        "accepted_others": fmean(others),
        "wasted": drafts / len(run.ids) / len(run.machines) - 1,
        "present": all(len(there) == len(run.machines) - 1 for there in run.roster),
    }


def summary(report: Report, settings: Settings) -> list[Row]:
    """Return a row for each way, number of parties and round trip."""
    found: list[Row] = []
    for way, parties, rtt in sorted(settings.ways, key=lambda each: each[2]):
        rows = [row for row in report.rows if (row["way"], row["parties"], row["rtt_ms"]) == (way, parties, rtt)]
        spoken = [row for row in rows if row["ms_per_token"] is not None]
        if not spoken:
            continue
        ms = _column(spoken, "ms_per_token")
        low, high = bootstrap(ms)
        decided = _column([row for row in rows if row["decided"] is not None], "decided")
        means = ("rejected_ms", "window_ms", "other_ms", "stalled", "accepted_asked", "accepted_others", "wasted")
        found.append(
            {"line": way if way == SIDES else f"{parties} parties", "rtt_ms": rtt, "answers": len(rows),
             "first_token_ms": fmean(_column(rows, "first_token_ms")),
             "first_floor_ms": settings.hold + rtt * (1.5 if way == GROUP else 1.0),
             "ms_per_token": fmean(ms), "low": low, "high": high, "p50": percentile(ms, 0.5),
             "p95": percentile(ms, 0.95), "floor_ms": settings.hold,
             **{name: fmean(_column(spoken, name)) for name in means},
             "decided": fmean(decided) if decided else None}
        )  # fmt: skip
    return found


def _column(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name] or 0.0) for row in rows]


def claim(report: Report) -> None:
    """Claim that time changes no token, and that a party that is only far away is never left out."""
    report.claims.clear()
    equal, present = (sum(bool(row[name]) for row in report.rows) for name in ("equal", "present"))
    number = len(report.rows)
    report.claim("answers whose ids are those of one process", str(number), equal, equal == number)
    report.claim("answers that all had part in from first to last", str(number), present, present == number)


def draw_picture(report: Report) -> None:
    """Draw the picture beside the report's file."""
    if report.path is not None:
        report.plot(
            report.path.with_suffix(".png"),
            "rtt_ms",
            "ms_per_token",
            "line",
            title="ms a token, every party on a machine of its own (virtual time)",
            interval=("low", "high"),
        )
