"""Many sessions at once on running daemons: exactness, batches that really form, cancelling, memory given back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import WORDS, Pair, pair

from hocket_daemon.engine.segments import Segment
from hocket_daemon.roles.daemon import Daemon
from waiting import WAIT_S

QUESTIONS = [" ".join(WORDS[(i * k + 3 * k) % len(WORDS)] for k in range(1, 6)) + "?" for i in range(20)]
OTHERS = 8


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        yield made


def start(made: Pair, hold_s: float = 0.0) -> None:
    made.start_retrieval("device")
    made.start_retrieval("cloud")
    made.start_cloud(max_sessions=12, model=made.model("cloud", slots=32), hold_s=hold_s)
    made.start_device(max_sessions=12, model=made.model("device", slots=32), hold_s=hold_s)


def options(number: int) -> dict[str, object]:
    return {
        "seed": number, "temperature": (0.0, 0.7, 1.0)[number % 3], "max_tokens": 24, "ignore_eos": True,
        "documents": 1 + number % 3,
    }  # fmt: skip


@pytest.mark.parametrize("number", [pytest.param(3, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.long)])
def test_ids_do_not_depend_on_who_else_is_served(made: Pair, number: int) -> None:
    """Each question gives, beside eight others of all kinds, the ids that it gives alone; batches did form."""
    start(made)
    client = made.client()
    assert made.cloud is not None
    alone = [client.ask(QUESTIONS[i], deadline_s=WAIT_S, **options(i)).result().token_ids for i in range(number)]  # type: ignore[arg-type]
    compute = made.cloud.services.compute
    before = (compute.batches, compute.requests)
    for i in range(number):
        others = [client.ask(QUESTIONS[i + 1 + k], deadline_s=WAIT_S, **options(50 * i + k)) for k in range(OTHERS)]  # type: ignore[arg-type]
        done = client.ask(QUESTIONS[i], deadline_s=WAIT_S, **options(i)).result()  # type: ignore[arg-type]
        assert (done.token_ids, done.aggregation.solo_steps) == (alone[i], [])
        for other in others:
            assert other.result().aggregation.solo_steps == []
    batches, steps = compute.batches - before[0], compute.requests - before[1]
    assert steps > 2 * batches


def watch_rows(daemon: Daemon) -> list[int]:
    """The rows of each decoding pass from now on."""
    rows: list[int] = []
    inner = daemon.services.model.read

    def read(feeds: list[Segment], *rest: object) -> object:
        rows.append(sum(len(feed.rows) for feed in feeds))
        return inner(feeds, *rest)  # type: ignore[arg-type]

    daemon.services.model.read = read  # type: ignore[method-assign,assignment]
    return rows


def test_a_cancelled_stream_is_decoded_at_most_once_more(made: Pair) -> None:
    """On both sides, while another stream that shares its batches goes on; its rows are free for the next question."""
    start(made, hold_s=0.05)
    client = made.client()
    assert made.device is not None
    assert made.cloud is not None
    kept = client.ask(QUESTIONS[1], seed=1, max_tokens=40, documents=3, ignore_eos=True)
    gone = client.ask(QUESTIONS[2], seed=2, max_tokens=400, documents=1, ignore_eos=True)
    tokens = iter(gone)
    for _ in range(5):
        next(tokens)
    seen = {daemon: watch_rows(daemon) for daemon in (made.device, made.cloud)}
    gone.cancel()
    assert gone.result().finish == "cancelled"
    marks = {daemon: len(rows) for daemon, rows in seen.items()}
    assert kept.result().finish == "length"
    for daemon, rows in seen.items():
        own = [count for count in rows[marks[daemon] :] if count in (1, 4)]
        assert len(own) <= 1, f"{daemon.side} decoded {len(own)} more steps"
    again = client.ask(QUESTIONS[2], seed=2, max_tokens=3, documents=3).result()
    assert again.aggregation.solo_steps == []
    assert sum(made.cloud.services.model.slots._free) >= 29
