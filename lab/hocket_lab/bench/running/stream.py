"""An answer as its reader saw it, and the figures of many answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hocket_client import Client
from hocket_lab.reporting.report import Row, bootstrap, percentile


@dataclass(frozen=True)
class Run:
    """An answer as its reader saw it.

    `times_s` is when each token came, in seconds since the question. Shares of drafts are (device's, cloud's).
    """

    times_s: list[float]
    ids: list[int]
    accepted: tuple[float | None, float | None] = (None, None)
    drafts: int = 0
    expected: tuple[float | None, float | None] = (None, None)  # by the paper's Eq. 5

    @property
    def ms_per_token(self) -> float | None:
        """The mean time in ms between tokens after the first; None where all are shown at once."""
        whole_s = self.times_s[-1] - self.times_s[0]
        return whole_s / (len(self.times_s) - 1) * 1000 if whole_s else None


def ask(client: Client, prompt: str, **options: Any) -> Run:  # noqa: ANN401 - the options are the client's
    """Ask for a continuation of `prompt`, or by `task` an answer, that no token ends early, and read it to its end."""
    started_s = time.monotonic()
    fields: dict[str, Any] = {"task": "complete", "ignore_eos": True, "top_p": 1.0} | options
    stream = client.ask(prompt, **fields)
    times_s = [time.monotonic() - started_s for _ in stream]
    done = stream.result()
    accepted, expected = (
        (done.aggregation.accept_device, done.aggregation.accept_cloud),
        (done.aggregation.expect_device, done.aggregation.expect_cloud),
    )
    return Run(
        times_s, done.token_ids, accepted, done.aggregation.drafts_device + done.aggregation.drafts_cloud, expected
    )


def figures(runs: Sequence[Run]) -> Row:
    """Return means over the answers with a 95 % interval, and percentiles over all gaps; None for what is missing."""
    per_token = [run.ms_per_token for run in runs if run.ms_per_token is not None]
    gaps = [(b - a) * 1000 for run in runs for a, b in zip(run.times_s, run.times_s[1:], strict=False)]
    low, high = bootstrap(per_token) if per_token else (None, None)
    tokens = sum(len(run.times_s) for run in runs)
    return {
        "ms_per_token": fmean(per_token) if per_token else None,
        "ms_low": low,
        "ms_high": high,
        "ttft_ms": fmean(run.times_s[0] * 1000 for run in runs),
        "gap_p50_ms": percentile(gaps, 0.5) if per_token else None,
        "gap_p95_ms": percentile(gaps, 0.95) if per_token else None,
        "gap_p99_ms": percentile(gaps, 0.99) if per_token else None,
        "accept_device": mean([run.accepted[0] for run in runs]),
        "accept_cloud": mean([run.accepted[1] for run in runs]),
        "expect_device": mean([run.expected[0] for run in runs]),
        "expect_cloud": mean([run.expected[1] for run in runs]),
        "drafts_per_token": sum(run.drafts for run in runs) / tokens / 2,
    }


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are known, None if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
