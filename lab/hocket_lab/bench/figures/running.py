"""Functions shared by figures 6 to 8: prompts through methods on a running pair, one row for each answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from hocket_lab.bench.parties.methods import Methods, Options
from hocket_lab.bench.running.stream import Run, figures
from hocket_lab.reporting.report import Row, Value, bootstrap

Key = tuple[Value, ...]
T = TypeVar("T")
FEWEST_ANSWERS = 5  # a bootstrap over fewer says little
TOO_FEW = f"fewer than {FEWEST_ANSWERS} answers"


def answers(methods: Methods, cell: Row, prompts: Sequence[str], options: Options, seed: int) -> list[Row]:
    """Return the rows of a cell, whose "method" answers every prompt."""
    runs = (methods.run(str(cell["method"]), prompt, options, seed + at) for at, prompt in enumerate(prompts))
    return [cell | row(number, run) for number, run in enumerate(runs)]


def row(prompt: int, run: Run) -> Row:
    """Return everything observed of one answer as a row; `times_ms` and `ids` hold one number for each token."""
    return {
        "prompt": prompt,
        "times_ms": " ".join(f"{seconds * 1000:.2f}" for seconds in run.times_s),
        "ids": " ".join(map(str, run.ids)),
        "accept_device": run.accepted[0],
        "accept_cloud": run.accepted[1],
        "expect_device": run.expected[0],
        "expect_cloud": run.expected[1],
        "drafts": run.drafts,
    }


def run_of(found: Row) -> Run:
    """Return the run that `row` made this row of."""
    times_ms = [float(text) for text in str(found["times_ms"]).split()]
    ids = [int(text) for text in str(found["ids"]).split()]
    accepted = (number(found, "accept_device"), number(found, "accept_cloud"))
    expected = (number(found, "expect_device"), number(found, "expect_cloud"))
    return Run([ms / 1000 for ms in times_ms], ids, accepted, int(number(found, "drafts") or 0), expected)


def number(found: Row, name: str) -> float | None:
    """Return a cell of a row as a number, or None if it is no number."""
    value = found[name]
    return float(value) if isinstance(value, int | float) else None


def seconds(ms: Value) -> float:
    """Return the seconds of a cell that is a number of milliseconds."""
    assert isinstance(ms, int | float)
    return ms / 1000


def cells(rows: Iterable[Row], names: Sequence[str]) -> dict[Key, list[Run]]:
    """Return the answers by the values that their rows have under `names`, in the order of the rows."""
    found: dict[Key, list[Run]] = {}
    for each in rows:
        found.setdefault(tuple(each[name] for name in names), []).append(run_of(each))
    return found


def enough(found: Mapping[Key, list[T]]) -> dict[Key, list[T]]:
    """Return the cells with enough answers to judge a claim."""
    return {key: answered for key, answered in found.items() if len(answered) >= FEWEST_ANSWERS}


def summary(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Return one row for each cell: the figures over its answers, and the mean time to the last token."""
    return [
        dict(zip(names, key, strict=True))
        | figures(runs)
        | {"last_ms": sum(run.times_s[-1] for run in runs) / len(runs) * 1000}
        for key, runs in cells(rows, names).items()
    ]


def ratio_interval(own: Sequence[float], rival: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of mean(own) / mean(rival); values at the same place are of the same prompt."""

    def ratio(places: Sequence[float]) -> float:
        return fmean(own[int(at)] for at in places) / fmean(rival[int(at)] for at in places)

    return bootstrap(range(len(own)), ratio)


def upper_ratio(own: Sequence[float], rival: Sequence[float]) -> float:
    """Return the upper end of `ratio_interval`."""
    return ratio_interval(own, rival)[1]
