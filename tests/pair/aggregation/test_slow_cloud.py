"""A cloud that takes long to read is waited for while it reports progress; one that is gone is noticed as before."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import Pair, pair

from hocket_client import Waiting
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_lab.link import start
from ports import free_port
from waiting import WAIT_S

QUESTIONS = [f"{word} {other}?" for word in ("kala", "mira", "duno") for other in ("tano", "meku", "relado", "sina")]
DEFAULTS = AggregationSettings()


@contextmanager
def reading(models: dict[str, Path], read_s: float, **waits: float) -> Iterator[Pair]:
    """A pair whose cloud takes `read_s` for each prompt, and whose device waits as it does by default."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud(read_s=read_s)
        made.start_device(**{"peer_wait_s": DEFAULTS.peer_wait_s, **waits})
        yield made


@pytest.mark.timeout(1800)  # twelve times a minute
@pytest.mark.parametrize(
    ("read_s", "longest_s", "questions"),
    [
        (1.0, 0.0, 1),
        pytest.param(1.0, 0.0, 12, marks=pytest.mark.slow),
        pytest.param(5.0, 0.0, 12, marks=pytest.mark.long),
        pytest.param(20.0, 0.0, 12, marks=pytest.mark.long),
        pytest.param(60.0, 90.0, 12, marks=pytest.mark.long),  # three times what the owner's default waits
    ],
)
def test_no_answer_is_written_alone_while_the_cloud_reads(
    tiny_models: dict[str, Path], read_s: float, longest_s: float, questions: int
) -> None:
    """Every token is of both sides, and the reader sees how far the cloud is."""
    with reading(tiny_models, read_s, progress_wait_s=longest_s) as made:
        client = made.client()
        for question in QUESTIONS[:questions]:
            stream = client.ask(question, max_tokens=8, ignore_eos=True, unknown="answer", deadline_s=WAIT_S)
            waits = [event for event in stream.events() if isinstance(event, Waiting)]
            done = stream.result()
            assert done.aggregation.solo_steps == [], stream.notices
            assert done.aggregation.method == "coupled"
            assert len(waits) >= read_s / 2
            assert {each.party for each in waits} == {"cloud"}


def test_a_link_that_is_cut_while_the_cloud_reads_is_noticed_at_once(tiny_models: dict[str, Path]) -> None:
    """Not at the end of the longest wait: by the link, as at any other time."""
    cloud = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        link = made.stack.enter_context(start("127.0.0.1:0", cloud))
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.trust(f"tcp://127.0.0.1:{link.port}")
        made.start_cloud(endpoint=f"tcp://{cloud}", read_s=WAIT_S)
        made.start_device(link=f"tcp://127.0.0.1:{link.port}", progress_wait_s=WAIT_S)
        stream = made.client().ask("kala?", max_tokens=8, ignore_eos=True, unknown="answer", deadline_s=WAIT_S)
        events = stream.events()
        assert isinstance(next(events), Waiting)
        link.partition(cut=True)
        cut_s = time.monotonic()
        first = next(event for event in events if not isinstance(event, Waiting))
        assert "answering alone" in first.text
        assert time.monotonic() - cut_s < WAIT_S / 2
        assert stream.result().aggregation.method == "alone"
