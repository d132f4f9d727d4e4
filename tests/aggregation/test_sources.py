"""Laws of the shares alone: parts of a mixture sum to one, whatever was drawn, told or left out."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from hocket_bus import wire
from hocket_bus.errors import BadMessage
from hocket_bus.messages import Passage, Place, Side
from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.exchange.sampler import device_part, mix
from hocket_daemon.aggregation.exchange.session_terms import Draft, SessionTerms
from hocket_daemon.engine.sampling.drawing import Rule
from hocket_daemon.engine.sampling.heads import Heads, Made, made, within
from hocket_daemon.privacy.history import CLOUD
from hocket_daemon.serving.records import sources
from hocket_daemon.serving.records.sources import (
    PeerSources,
    Trace,
    decode,
    encode,
    peer_sources,
    sourced,
    sources_message,
    table,
)
from hocket_daemon.serving.stream.prefix import PrefixChain

VOCABULARY, TOKENS = 60, 40


def side(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, list[float]]:
    """Random distributions of a side's rows, and weights."""
    logits = 3 * rng.normal(size=(rows, VOCABULARY))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probabilities.astype(np.float32), [float(weight) for weight in rng.dirichlet(np.ones(rows))]


def said(rows: np.ndarray, weights: list[float]) -> Made:
    """What a side makes of them."""
    return made(Heads(rows), weights, 0.98)


def passages(name: str, number: int) -> list[Passage]:
    return [Passage(document=f"{name}-{at}", title="", ordinal=at, text="", score=0.0) for at in range(number)]


@pytest.mark.parametrize("seed", range(20))
def test_a_share_is_the_rows_weight_times_its_probability_over_the_mixtures(seed: int) -> None:
    """Recomputed token by token from both sides' rows as they travel; every token's shares sum to one."""
    rng = np.random.default_rng(seed)
    (d_rows, d_weights), (c_rows, c_weights), eta = side(rng, 3), side(rng, 2), float(rng.uniform())
    device, cloud = made(Heads(d_rows), d_weights, 0.9), made(Heads(c_rows), c_weights, 0.9)
    ids, mixture = mix(device.distribution, cloud.distribution, eta)
    chosen = [int(token) for token in rng.choice(ids, TOKENS, p=mixture / mixture.sum())]
    own = [
        Trace(device_part(device.distribution, cloud.distribution, eta, token), within(device, token))
        for token in chosen
    ]
    theirs = table([Trace(0.0, within(cloud, token)) for token in chosen], 2)
    told = PeerSources([Place(document=f"c-{at}", ordinal=at) for at in range(2)], decode(encode(theirs), TOKENS, 2))
    found = sourced("device", passages("d", 3), own, told)
    assert sum(origin.share for origin in found.origins) == pytest.approx(1.0, abs=1e-9)
    for token, row in zip(chosen, found.by_token, strict=True):
        assert sum(row) == pytest.approx(1.0, abs=1e-9)
        for origin, share in zip(found.origins, row, strict=True):
            ours = origin.side == "device"
            rows, weights, part = (d_rows, d_weights, eta) if ours else (c_rows, c_weights, 1 - eta)
            travels = (device if ours else cloud).distribution
            parts = np.array(weights) * rows[:, token]  # of what the side said before it was cut
            exact = part * travels.of(token) * parts[origin.ordinal] / parts.sum()
            assert share == pytest.approx(exact / mixture[ids == token][0], abs=3e-5)
    for at, origin in enumerate(found.origins):
        assert origin.share == pytest.approx(np.mean([row[at] for row in found.by_token]))
    assert [origin.share for origin in found.origins] == sorted((each.share for each in found.origins), reverse=True)


def test_the_places_of_a_device_stay_on_it() -> None:
    """They go to its own reader alone, and none where another device told the passage; a cloud tells its own."""
    own = Passage(document="a", title="", ordinal=0, text="", score=0.0, place="§ Deposit")
    others = msgspec.structs.replace(own, ordinal=1, device="phone")
    traces = [Trace(1.0, np.array([0.5, 0.5], np.float32))]
    found = sourced("device", [own, others], traces, None)
    assert {(origin.device, origin.place) for origin in found.origins} == {("", "§ Deposit"), ("phone", "")}
    chain = PrefixChain(bytes(16), 0)
    for side, is_told in (("device", False), ("cloud", True)):
        told = sources_message(bytes(16), chain, [own, others], [], lambda _: [], side=side)  # type: ignore[arg-type]
        assert (b"Deposit" in b"".join(wire.encode(told))) is is_told
        assert told.places[1].place == ""
    reported = PeerSources(told.places[:1], np.array([[1.0]]))
    remote = sourced("device", [], [Trace(0.0, None)], reported).origins
    assert [(origin.side, origin.place) for origin in remote] == [("cloud", "§ Deposit")]


@pytest.mark.parametrize("asked", ["device", "cloud"])
def test_passages_that_are_read_in_one_row_share_its_part_evenly(asked: Side) -> None:
    """On the side itself, and as the other side is told; no share is lost, and each document is named."""
    led = [Place(document="led", ordinal=4, score=0.25, place="§ Births")]
    read = [msgspec.structs.replace(passages("d", 1)[0], led=led), *passages("e", 1)]
    traces = [Trace(1.0, np.array(row, np.float32)) for row in ([0.75, 0.25], [0.5, 0.5])]
    found = sourced(asked, read, traces, None)
    shares = {(origin.document, origin.ordinal): origin.share for origin in found.origins}
    assert shares == pytest.approx({("d-0", 0): 0.3125, ("led", 4): 0.3125, ("e-0", 0): 0.375})
    assert {origin.place for origin in found.origins} == {"", "§ Births"}
    chain = PrefixChain(bytes(16), 0)
    for token in (3, 5):
        chain.append(token)
    told = sources_message(bytes(16), chain, read, traces, lambda _: [], side=asked)
    assert [place.document for place in told.places] == ["d-0", "led", "e-0"]
    assert [place.place for place in told.places] == ["", "§ Births" if asked == "cloud" else "", ""]
    theirs = peer_sources(told, chain)
    assert theirs is not None
    assert theirs.rows == pytest.approx(np.array([[0.375, 0.375, 0.25], [0.25, 0.25, 0.5]]), abs=1e-4)


def test_what_nobody_told_is_the_other_sides() -> None:
    """Tokens that the other side told nothing of are its own without a name, and no share is lost."""
    own = [Trace(0.25, np.array([1.0], np.float32)), Trace(0.5, np.array([1.0], np.float32))]
    told = PeerSources([Place(document="c", ordinal=3)], np.array([[1.0]]))
    found = sourced("device", passages("d", 1), own, told)
    shares = {(origin.side, origin.document): origin.share for origin in found.origins}
    assert shares == {("device", "d-0"): 0.375, ("cloud", "c"): 0.375, ("cloud", ""): 0.25}
    assert sourced("device", passages("d", 1), own, None).origins[0].share == 0.625
    assert not sourced("device", [], [Trace(1.0, None)], None).origins
    assert not sourced("device", passages("d", 1), [], told).origins


def test_a_large_table_stays_here_and_its_means_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shares of the answer are there, those of its tokens are not."""
    monkeypatch.setattr(sources, "MAX_CELLS", 3)
    own = [Trace(1.0, np.array([0.5, 0.5], np.float32))] * 2
    found = sourced("device", passages("d", 2), own, None)
    assert ([origin.share for origin in found.origins], found.by_token) == ([0.5, 0.5], [])


def test_what_is_told_is_read_back_or_refused() -> None:
    """To within 2^-16; a row of zeros stays one, and data of another length is a bad message."""
    rows = np.array([[0.2, 0.8], [0.0, 0.0], [1e-7, 1.0]])
    assert decode(encode(rows), 3, 2) == pytest.approx(rows, abs=2**-15)
    with pytest.raises(BadMessage):
        decode(encode(rows), 3, 1)


@pytest.mark.parametrize("seed", range(20))
def test_what_was_rejected_or_taken_back_does_not_count(seed: int) -> None:
    """A draft that the device's word replaces, once or after it was confirmed: traces are those of the answer alone."""
    rng = np.random.default_rng(seed)
    exchange = Exchange("cloud", SessionTerms(bytes(16), Rule(seed, 1.0, 1.0), "sync", frozenset(), 30))
    by_prefix = {}

    def draft() -> None:
        while (step := exchange.next_step()) is not None:
            own = by_prefix.setdefault(exchange.drafted.digest, said(*side(rng, 3)))
            exchange.add_own(step, exchange.drafted.digest, own.distribution, 0.0, 0.0, parts=own.parts)

    answer: list[int] = []
    while len(answer) < 20:
        draft()
        if answer and rng.uniform() < 0.2:
            del answer[int(rng.integers(len(answer))) :]
            first = len(answer)
        else:
            first = len(answer)
        kept = exchange.drafted.ids[first] if len(exchange.drafted) > first and rng.uniform() < 0.5 else None
        answer.append(int(rng.integers(VOCABULARY)) if kept is None else kept)
        digests = type(exchange.confirmed)(bytes(16), seed)
        for token in answer:
            digests.append(token)
        exchange.add_target(first, answer[first:], digests.digest)
        exchange.advance()
        assert exchange.confirmed.ids[: len(answer)] == answer
    assert len(exchange.traces) == len(exchange.confirmed)
    known = 0
    for step, trace in enumerate(exchange.traces):
        own = by_prefix.get(exchange.confirmed.at(step))
        if trace.rows is not None:
            assert own is not None
            assert trace.rows == pytest.approx(within(own, exchange.confirmed.ids[step]))
            known += 1
    assert known > 5


def test_a_draft_that_is_kept_for_the_other_side_keeps_no_rows() -> None:
    """What the rows gave to a confirmed token stays, and what they gave to all others goes."""
    rng = np.random.default_rng(0)
    exchange = Exchange("device", SessionTerms(bytes(16), Rule(1, 1.0, 1.0), "coupled", frozenset(), 30))
    own, remote, start = said(*side(rng, 3)), said(*side(rng, 3)), exchange.confirmed.digest
    exchange.add_own(0, start, own.distribution, 0.0, 0.0, parts=own.parts)
    exchange.add_draft(CLOUD, Draft(0, start, 1, remote.distribution, 0.0, 0.0), 0, start)
    (confirmed,) = exchange.advance()
    (_,) = exchange.drafts_from(0)
    assert not exchange._rows
    assert exchange.traces[0].rows == pytest.approx(within(own, confirmed.token))
