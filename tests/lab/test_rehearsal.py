"""Laws of rehearsals: what is held, who aggregates, and where an answer moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime.compute import Post
from hocket_daemon.engine.runtime.sequences import Prefill
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_lab.rehearsal.aggregating import scheduler
from hocket_lab.rehearsal.daemon import Rehearsal
from hocket_lab.rehearsal.held import HeldCompute, Hold
from hocket_lab.rehearsal.script import Script, parse
from waiting import WAIT_S

TOKENS = 4


def main_thread() -> tuple[SimpleQueue[Callable[[], None]], Post]:
    """What is posted, and how."""
    inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def post(*commands: Callable[[], None]) -> None:
        for command in commands:
            inbox.put(command)

    return inbox, post


def passes() -> Prefill[str]:
    """A prompt of two passes."""
    for _ in range(2):
        yield Segment([0], [[1] * (TOKENS // 2)])
    return "read"


def nothing() -> Prefill[None]:
    """No pass at all."""
    yield from ()


def read_all(holds: list[Hold], number: int) -> list[float]:
    """Seconds that each of so many prompts took, one behind the other."""
    inbox, post = main_thread()
    compute = HeldCompute(post, lambda segments, _: [Heads(np.ones((1, 1), np.float32)) for _ in segments], 0.0, holds)
    took_s: list[float] = []
    ended: list[object] = []
    for _ in range(number):
        began_s = time.monotonic()
        compute.prefill(passes(), Interrupt(), ended.append)
        wanted = len(ended) + 1
        while len(ended) < wanted:
            inbox.get(timeout=WAIT_S)()
        took_s.append(time.monotonic() - began_s)
    assert ended == ["read"] * number
    compute.close()
    return took_s


def test_each_hold_is_for_one_prompt_and_may_count_its_tokens() -> None:
    """Seconds, or seconds a token; nothing is held behind the last."""
    first_s, second_s, third_s = read_all([Hold(seconds=0.2), Hold(each_s=0.1)], 3)
    assert first_s >= 0.2
    assert second_s >= TOKENS * 0.1
    assert third_s < 0.2


def test_what_asks_for_no_pass_is_no_prompt_to_hold() -> None:
    """As a group that has caught up already; behind the last hold it ends at once."""
    inbox, post = main_thread()
    ended = list[object]()
    compute = HeldCompute(post, lambda segments, _: [Heads(np.ones((1, 1), np.float32)) for _ in segments], 0.01)
    compute.prefill(nothing(), Interrupt(), ended.append)
    while not ended:
        inbox.get(timeout=WAIT_S)()
    assert ended == [None]
    compute.close()


def test_a_held_prompt_that_nobody_wants_ends() -> None:
    inbox, post = main_thread()
    interrupt, ended = Interrupt(), list[object]()

    def read(segments: Sequence[Segment], _: Interrupt) -> list[Heads]:
        interrupt.set()
        return [Heads(np.ones((1, 1), np.float32)) for _ in segments]

    compute = HeldCompute(post, read, 0.0, [Hold(seconds=3600.0)])
    compute.prefill(passes(), interrupt, ended.append)
    while not ended:
        inbox.get(timeout=WAIT_S)()
    assert isinstance(ended[0], Preempted)
    compute.close()


def test_a_script_is_read() -> None:
    assert parse("") is None
    assert parse("cloud") == Script("cloud")
    assert parse("device,20:cloud,40:device") == Script("device", ((20, "cloud"), (40, "device")))


@pytest.mark.parametrize(
    "text", ["phone", "device,cloud", "device,0:cloud", "device,9:cloud,3:device", "device,x:cloud"]
)
def test_a_script_that_cannot_be_followed_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="who begins"):
        parse(text)


def test_who_aggregates_is_as_it_is_named() -> None:
    """One side, or either as often."""
    assert {scheduler("cloud").next_side("device") for _ in range(9)} == {"cloud"}
    drawn = scheduler("random")
    assert 60 < sum(drawn.next_side("cloud") == "device" for _ in range(200)) < 140


def test_a_rehearsal_comes_back_from_its_file(tmp_path: Path) -> None:
    told = Rehearsal(0.02, [Hold(0.1, 0.2)], "random")
    told.save(tmp_path / "device.toml")
    assert Rehearsal.beside(tmp_path / "device.toml") == told
    assert Rehearsal.beside(tmp_path / "cloud.toml") == Rehearsal()
