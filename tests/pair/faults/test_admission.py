"""Who may begin: bounds that hold, places for those who have fewest, busy with a time, windows that shrink before."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Pair, pair

from hocket_bus.errors import BadRequest, Busy
from hocket_daemon.aggregation.exchange.lookahead import lookahead
from hocket_daemon.serving.admission import Admission

QUESTION = "kala mira duno?"


def test_no_more_is_promised_than_there_is_and_everybody_gets_a_turn() -> None:
    """Five machines that ask all the time, one of them for as much as it can get: over random ends of sessions the
    places and rows are never exceeded, and nobody that comes back when told to waits for more than a few ends."""
    rng = random.Random(2)
    places, rows = 6, 14
    admission = Admission(places, rows)
    held: dict[bytes, tuple[str, int]] = {}
    waits: dict[str, int] = {}
    retries: list[float] = []
    now_s, longest = 0.0, 0
    for number in range(3000):
        now_s += 0.05
        if held and rng.random() < 0.3:
            key = rng.choice(list(held))
            admission.leave(key, now_s)
            del held[key]
        user = rng.choice(["hog"] * 6 + ["a", "b", "c", "d"])
        if user != "hog" and any(name == user for name, _ in held.values()):
            continue
        asked = rng.randint(1, 3)
        key = number.to_bytes(16, "big")
        try:
            admission.enter(key, user, asked, now_s)
        except Busy as busy:
            retries.append(busy.retry_after_s)
            waits[user] = waits.get(user, 0) + 1
        else:
            held[key] = (user, asked)
            waits[user] = 0
        longest = max(longest, *(waits.get(name, 0) for name in "abcd"))
        assert len(held) == len(admission) <= places
        assert sum(count for _, count in held.values()) <= rows
    assert longest <= 25
    assert 0.2 <= min(retries) <= max(retries) <= 10
    with pytest.raises(BadRequest, match="15 rows.*14 slots"):
        admission.enter(bytes(16), "a", 15, now_s)


def test_a_freed_place_goes_to_the_machine_that_was_told_busy() -> None:
    """Not to the one that holds all the others, however often that asks; unless nobody comes for it."""
    admission = Admission(3, 99)
    for key in (b"1", b"2", b"3"):
        admission.enter(key, "hog", 1, 0.0)
    with pytest.raises(Busy) as busy:
        admission.enter(b"4", "other", 1, 1.0)
    admission.leave(b"1", 1.1)
    with pytest.raises(Busy, match="uses fewer"):
        admission.enter(b"5", "hog", 1, 1.2)
    admission.enter(b"4", "other", 1, 1.0 + busy.value.retry_after_s)
    admission.leave(b"2", 2.0)
    admission.enter(b"6", "hog", 1, 2.1)

    admission = Admission(1, 9)
    admission.enter(b"1", "hog", 1, 0.0)
    with pytest.raises(Busy):
        admission.enter(b"2", "other", 1, 0.0)
    admission.leave(b"1", 1.0)
    admission.enter(b"1", "hog", 1, 100.0)


def test_windows_shrink_to_one_before_anybody_is_told_busy() -> None:
    """Whole while half is free, then narrower with every session; by places and by rows alike."""
    for places, rows in ((9, 1000), (1000, 18)):
        admission = Admission(places, rows)
        seen = []
        for number in range(9):
            admission.enter(bytes([number]), "", 2, 0.0)
            seen.append(lookahead(admission.headroom(2)))
        assert seen[0] == 32
        assert seen[-1] == 1
        assert seen == sorted(seen, reverse=True)
        with pytest.raises(Busy):
            admission.enter(b"more", "", 2, 0.0)
    assert lookahead(Admission(1, 2).headroom(2)) == 32


@pytest.fixture
def full(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair whose cloud has two places, both taken for about three seconds."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.start_cloud(max_sessions=2, hold_s=0.03)
        made.start_device(hold_s=0.03)
        yield made


@pytest.mark.slow
def test_a_client_of_a_full_daemon_is_told_when_to_try_again(full: Pair) -> None:
    """At once, by an error of its own kind; and a question for more rows than there are is the caller's mistake."""
    client = full.client("cloud")
    streams = [client.ask(QUESTION, seed=seed, max_tokens=100, ignore_eos=True) for seed in range(2)]
    for stream in streams:
        next(iter(stream))
    with pytest.raises(Busy, match="2 of at most 2 questions") as busy:
        client.ask(QUESTION).result()
    assert busy.value.retry_after_s > 0
    with pytest.raises(BadRequest, match="18 rows.*16 slots"):
        client.ask(QUESTION, documents=17).result()
    assert [stream.result().finish for stream in streams] == ["length"] * 2
    assert client.ask(QUESTION, max_tokens=2).result().token_ids


@pytest.mark.slow
def test_a_device_that_was_told_busy_begins_alone_and_joins_when_there_is_room(full: Pair) -> None:
    """Its reader is told once; the tokens after that are joint again."""
    client = full.client()
    streams = [client.ask(QUESTION, seed=seed, max_tokens=60, ignore_eos=True) for seed in range(2)]
    for stream in streams:
        next(iter(stream))
    late = client.ask(QUESTION, seed=7, max_tokens=250, ignore_eos=True).result()
    for stream in streams:
        assert stream.result().aggregation.solo_steps == []
    assert 0 < len(late.aggregation.solo_steps) < 250
    assert late.aggregation.solo_steps[0] == 0
    assert late.aggregation.solo_steps[-1] < 249
