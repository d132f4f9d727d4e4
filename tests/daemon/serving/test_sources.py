"""Laws of an answer's sources: recomputed from the rows of both sides' models, in whatever order things happen."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from fakes import FakePeer, name_of, part
from msgspec import structs
from two_sides import SETTINGS, TEXTS, Sides, ask, leaning, strange, weighed_rows

from hocket_bus.errors import Cancelled
from hocket_bus.messages import METHODS, WEIGHTS, Done, Draft, End, Message, Sources, Target
from hocket_bus.wire import encode
from hocket_daemon.aggregation.exchange.sampler import eta_device
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.engine.sampling.heads import mix
from hocket_daemon.serving.records.sources import SOURCES_WAIT_S

Made = Callable[..., Sides]
NEAR = 1e-4  # two bytes for each part that the cloud tells, and float32


def expected(both: Sides, done: Done) -> list[dict[tuple[str, int], float]]:
    """For each token the share of each passage, by side and number, from the rows' distributions behind its prefix."""
    weights = both.asked.options.weights  # type: ignore[union-attr]
    shares = []
    for step, token in enumerate(done.token_ids):
        of_side, log_h = [], []
        for side in (both.device, both.cloud):
            rows, own, claim = weighed_rows(side, both.asked, weights, done.token_ids[:step])
            parts = np.array(own or [1.0]) * rows[:, token]
            travels = truncate(mix(rows, own), SETTINGS.wire_mass).of(token)
            of_side.append((side, travels * parts / parts.sum()))
            log_h.append(claim)
        eta = (
            1.0
            if step in done.aggregation.solo_steps
            else eta_device(leaning(log_h[0], [both.device, both.cloud], both.asked), log_h[1])
        )
        table = {
            (side.side, number): by * float(share)
            for (side, found), by in zip(of_side, (eta, 1 - eta), strict=True)
            for number, share in enumerate(found)
        }
        shares.append({key: value / sum(table.values()) for key, value in table.items()})
    return shares


def check(both: Sides, *, told: bool = True) -> Done:
    """The answer's sources are those of the reference; `told` is whether the cloud could tell its passages."""
    done = both.reader.done
    exact = expected(both, done)
    assert sum(origin.share for origin in done.sources) == pytest.approx(1.0, abs=1e-9)
    assert told is all(origin.document for origin in done.sources)
    for row, want in zip(done.token_sources, exact, strict=True):
        assert sum(row) == pytest.approx(1.0, abs=1e-9)
        cloud = 0.0
        for origin, share in zip(done.sources, row, strict=True):
            cloud += share * (origin.side == "cloud")
            if origin.side == "device" or told:
                assert share == pytest.approx(want[origin.side, origin.ordinal], abs=NEAR)
        assert cloud == pytest.approx(sum(share for (side, _), share in want.items() if side == "cloud"), abs=NEAR)
    for at, origin in enumerate(done.sources):
        assert origin.share == pytest.approx(np.mean([row[at] for row in done.token_sources]))
    return done


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_each_passage_has_its_part_in_the_probability_of_the_tokens(
    sides: Made, method: str, temperature: float, shares: bool
) -> None:
    """For every method, with drafts and without, greedy and drawn, in any order: both sides' passages are named."""
    for seed in range(3):
        weights, asked = WEIGHTS[seed], ask(method, max_tokens=14, seed=seed, ignore_eos=seed > 0)
        asked = structs.replace(
            asked,
            sampling=structs.replace(asked.sampling, temperature=temperature),
            options=structs.replace(asked.options, weights=weights),
        )
        device = part("device", TEXTS["device"], seed=1, shares=shares)
        both = sides(asked, device=device, order=random.Random(seed))
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        done = check(both)
        assert len(done.sources) == 4
        assert {origin.document for origin in done.sources if origin.side == "cloud"} == {*map(name_of, TEXTS["cloud"])}


def test_alone_all_of_it_is_this_sides(sides: Made) -> None:
    """By choice, and without documents: then there are no sources at all."""
    both = sides(ask(alone=True))
    both.begin()
    both.run_to_the_end()
    assert {origin.side for origin in check(both).sources} == {"device"}
    both = sides(ask(documents=0))
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    assert (both.reader.done.sources, both.reader.done.token_sources) == ([], [])


def test_a_side_without_documents_has_no_part(sides: Made) -> None:
    """The cloud's passages have all of it, or the device's."""
    for texts in ({"device": [], "cloud": TEXTS["cloud"]}, {"device": TEXTS["device"], "cloud": []}):
        parts = {side: part(side, texts[side], seed=at) for at, side in enumerate(texts)}  # type: ignore[arg-type]
        both = sides(**parts)
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        assert {origin.side for origin in check(both).sources if origin.share > 0} == {
            side for side, found in texts.items() if found
        }


@pytest.mark.parametrize("method", METHODS)
def test_with_breaks_no_share_is_lost(sides: Made, method: str) -> None:
    """A link that goes and comes: own passages are exact, the cloud's have together what they had, told or not."""
    both_told = set()
    for seed in range(6):
        rng = random.Random(f"{method} {seed}")
        both = sides(ask(method, max_tokens=16, seed=seed, ignore_eos=True), order=rng)
        leader = both.begin()
        while not leader.closed:
            both.run(rng.randint(1, 60))
            if leader.closed:
                break
            if both.to_cloud.up and rng.random() < 0.4:
                both.break_link()
            elif not both.to_cloud.up:
                both.heal_link()
            elif not both.step():
                both.wait()
        both.check_closed()
        told = all(origin.document for origin in both.reader.done.sources)
        check(both, told=told)
        both_told.add(told)
    assert True in both_told


@pytest.mark.parametrize("drafts", range(2, 9))
def test_a_cloud_that_was_left_had_its_part_until_then(sides: Made, drafts: int) -> None:
    """It tells what it knows when it is left; the rest of its share has no name, and none is lost."""
    seen: list[Message] = []

    def forge(message: Message) -> Message:
        seen.extend([message] * isinstance(message, Draft))
        return strange(message) if len(seen) > drafts else message

    both = sides(ask(weights="off", max_tokens=16, ignore_eos=True), forge=forge)
    both.begin()
    both.run_to_the_end()
    both.check_closed()
    done = both.reader.done
    assert 0 < len(done.aggregation.solo_steps) < 16
    check(both, told=all(origin.document for origin in done.sources))
    assert [origin for origin in done.sources if origin.side == "cloud"]


def written(both: Sides) -> None:
    """To where the answer lacks nothing but the cloud's sources."""
    while len(both.reader.tokens) < both.asked.sampling.max_tokens:
        assert both.step()
    assert not both.leader.closed


@pytest.mark.parametrize("what", ["silence", "break", "cancel", "stop", "deadline", "other tokens", "too long"])
def test_an_answer_that_is_written_ends_with_or_without_the_clouds_word(sides: Made, what: str) -> None:
    """A cloud that says nothing, or nothing that fits, has its share without names; the answer is whole in any case."""

    def forge(message: Message) -> Message:
        if not isinstance(message, Sources):
            return message
        if what == "too long":
            return structs.replace(message, tokens=message.tokens + 1)
        return structs.replace(message, digest=message.digest ^ 1)

    both = sides(ask(weights="off", ignore_eos=True), forge=forge)
    leader = both.begin()
    written(both)
    if what == "break":
        both.break_link()
    elif what == "cancel":
        leader.cancel()
    elif what == "stop":
        leader.fail(Cancelled("stopping"))
    elif what == "deadline":
        leader.tick(both.clock.now + 120.1)
    elif what == "silence":
        assert leader.due_s() - both.clock.now <= SOURCES_WAIT_S
        both.wait()
    else:
        both.run()
    assert leader.closed
    assert check(both, told=False).finish == "length"
    both.check_closed()


def test_the_cloud_is_told_the_end_of_the_answer_and_nothing_of_the_devices_documents(sides: Made) -> None:
    """Without drafts, too: its tokens up to the end, in one Target before End; no frame has a document's name."""
    for shares in (True, False):
        device = part("device", TEXTS["device"], seed=1, shares=shares)
        both = sides(ask(weights="off", ignore_eos=True), device=device)
        both.begin()
        both.run_to_the_end()
        both.check_closed()
        (end,) = (message for message in both.said if isinstance(message, End))
        done = both.reader.done
        assert end.tokens == len(done.token_ids)
        (follower,) = both.followers
        assert follower.steps == len(done.token_ids)
        frames = b"".join(b"".join(encode(message)) for message in both.said)
        assert not [text for text in TEXTS["device"] if name_of(text).encode() in frames]
        assert {origin.document for origin in done.sources if origin.side == "device"} == {
            *map(name_of, TEXTS["device"])
        }
        assert shares is any(isinstance(message, Draft) for message in both.said)
        assert shares or any(isinstance(message, Target) for message in both.said)
    assert isinstance(both.to_cloud, FakePeer)
