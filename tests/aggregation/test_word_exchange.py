"""A session of words: the same words under any network, and each follows Σ η P."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest
from scipy.stats import chi2
from simulation import LOG_H, check, model, word, word_of_both

from hocket_bus.errors import BadMessage, BadRequest
from hocket_bus.messages import Begin, Prompt, Sampling
from hocket_daemon.aggregation.dialogues import WordDialogue
from hocket_daemon.aggregation.exchange import word_messages
from hocket_daemon.aggregation.exchange.exchange import Exchange
from hocket_daemon.aggregation.exchange.parties import LEADER, Part
from hocket_daemon.aggregation.exchange.sampler import ETA_STEPS, eta_device
from hocket_daemon.aggregation.exchange.session_terms import Draft
from hocket_daemon.aggregation.exchange.word_exchange import likeliest
from hocket_daemon.engine.sampling.drawing import coin
from hocket_daemon.engine.text.word_draw import SCALE, Proposal
from hocket_daemon.engine.text.words import CAP, END, number_of, word_of
from hocket_daemon.privacy.history import CLOUD


@pytest.mark.parametrize("method", ["coupled", "sync", "sync-both"])
@pytest.mark.parametrize("shares_drafts", [True, False])
def test_a_network_changes_no_word(method: str, shares_drafts: bool) -> None:
    """Delays, breaks and numbers that differ by a bit: the words are those of one process, and so are the shares."""
    for seed in range(25):
        check(seed, method, breaks=False, near_ties=False, shares_drafts=shares_drafts, unit="word")
        check(seed, method, breaks=True, near_ties=False, shares_drafts=shares_drafts, unit="word")
    for seed in range(25):
        check(seed, method, breaks=True, near_ties=True, shares_drafts=shares_drafts, unit="word")


@pytest.mark.long
def test_ten_thousand_sessions_of_words() -> None:
    """Run ten thousand sessions, half of them with breaks."""
    for seed in range(10_000):
        check(seed, "coupled", breaks=seed % 2 == 0, near_ties=seed % 3 == 0, unit="word")


def test_a_draft_that_the_coin_does_not_name_is_not_waited_for() -> None:
    """Confirm the device's word where the coin names it, once the cloud's weight is known."""
    exchange = WordDialogue("device", _begin(5, 1.0)).exchange
    seed, eta = 5, eta_device(0.3, 0.1)
    speaks = [coin(seed, step, ETA_STEPS) < eta * ETA_STEPS for step in range(9)]
    first = speaks.index(True, 1)
    assert not all(speaks[:first]), "the cloud speaks before, and is waited for"
    for step in range(first + 1):
        own = Proposal(number_of(b" d%d" % step), SCALE)
        exchange.add_own(step, exchange.drafted.digest, own, 0.3, 0.01)
        if step < first:
            prefix, theirs = exchange.confirmed.digest, Proposal(number_of(b" c%d" % step), SCALE)
            draft = Draft(step, prefix, theirs.word, theirs, 0.1, 0.01)
            exchange.add_draft(CLOUD, draft, step, exchange.confirmed.at(step))
        assert len(exchange.advance()) == 1
    assert word_of(exchange.confirmed.ids[first]) == b" d%d" % first
    assert exchange.traces[first].part == 1.0


def _begin(seed: int, temperature: float) -> Begin:
    return Begin(
        session=bytes(16),
        epoch=0,
        prompt=Prompt(query=""),
        task="answer",
        documents=2,
        eos=[3],
        sampling=Sampling(seed=seed, temperature=temperature, top_p=1.0, max_tokens=9),
        method="coupled",
        weights="static",
        reweigh_every=1,
        relevance_temperature=1.0,
        wire_mass=0.98,
        unit="word",
    )


def test_a_word_is_the_mixtures() -> None:
    """Over many seeds it follows Σ η P: the coin and both sides' noise are independent."""
    runs, counts = 20_000, Counter[int]()
    for seed in range(runs):
        begin = _begin(seed, 1.0)
        both = [word(side, 11, [], begin) for side in ("device", "cloud")]
        counts[word_of_both(begin, 0, *both)] += 1
    eta = eta_device(LOG_H["device"], LOG_H["cloud"])
    device, cloud = (model(side, 11, []) for side in ("device", "cloud"))
    square = cells = 0.0
    for token in sorted({*device.ids.tolist(), *cloud.ids.tolist()}):
        expected = runs * (eta * device.of(token) + (1 - eta) * cloud.of(token))
        number = number_of(END if token == 3 else b" w%d" % token)
        square, cells = square + (counts[number] - expected) ** 2 / expected, cells + 1
    assert chi2.sf(square, cells - 1) > 1e-3


def test_the_coin_is_uniform_and_independent_of_tokens_noise() -> None:
    """In equal parts over steps and seeds."""
    counts = Counter(coin(seed, step, 16) for seed in range(200) for step in range(50))
    assert chi2.sf(sum((n - 625) ** 2 / 625 for n in counts.values()), 15) > 1e-3
    assert all(0 <= coin(seed, 0, ETA_STEPS) < ETA_STEPS for seed in range(100))


def _part(name: str, eta: float, text: bytes | None, chance: float = 0.0) -> Part:
    if text is None:
        return Part(name, eta, None)
    proposal = Proposal(number_of(text), round(chance * SCALE))
    return Part(name, eta, Draft(0, 0, proposal.word, proposal, 0.0, 0.0))


def test_equal_proposals_add() -> None:
    """Two that agree win over a third that is surer than each."""
    parts = [_part(LEADER, 0.25, b" a", 0.5), _part("b", 0.5, b" x", 0.4), _part("c", 0.25, b" a", 0.5)]
    assert word_of(likeliest(parts) or 0) == b" a"
    assert word_of(likeliest(parts[:2]) or 0) == b" x"


def test_of_equals_the_asked_sides_is_taken() -> None:
    """Whatever the words are."""
    for first, second in ((b" a", b" b"), (b" b", b" a")):
        found = likeliest([_part(LEADER, 0.5, first, 0.5), _part("b", 0.5, second, 0.5)])
        assert word_of(found or 0) == first


def test_a_missing_draft_is_waited_for_as_long_as_it_may_decide() -> None:
    """And no longer: no probability is above 1."""
    sure, unsure = _part(LEADER, 0.75, b" a", 0.9), _part(LEADER, 0.75, b" a", 0.3)
    assert word_of(likeliest([sure, _part("b", 0.25, None)]) or 0) == b" a"
    assert likeliest([unsure, _part("b", 0.25, None)]) is None
    assert likeliest([_part(LEADER, 0.0, None), _part("b", 1.0, None)]) is None


@pytest.mark.parametrize("text", [END, b" word", "é€한😀".encode(), b"\n\n", b"x" * CAP])
def test_a_proposal_travels_whole(text: bytes) -> None:
    """Its word and its probability, in eight bytes more than the word."""
    proposal = Proposal(number_of(text), 12_345_678_901)
    assert word_messages.decode(word_messages.encode(proposal)) == proposal
    assert len(word_messages.encode(proposal)) == len(text) + 8


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"", BadMessage),
        (bytes(7), BadMessage),
        (bytes(8) + b" a", BadMessage),
        (b"\xff" * 8 + b" a", BadMessage),
        (bytes(7) + b"\x01" + b"x" * (CAP + 1), BadRequest),
        (bytes(7) + b"\x01\xff\xfe", BadRequest),
    ],
)
def test_what_is_no_proposal_is_refused(payload: bytes, error: type[Exception]) -> None:
    """Too short, without a probability, too long, or no text."""
    with pytest.raises(error):
        word_messages.decode(payload)


def test_a_target_that_is_no_word_is_refused() -> None:
    """Raise BadRequest on the cloud for a word that is no text."""
    begin = _begin(1, 0.0)
    cloud = WordDialogue("cloud", begin)
    target = WordDialogue("device", begin).target(CLOUD, 0)
    with pytest.raises(BadRequest, match="no word"):
        cloud.receive(msgspec.structs.replace(target, words=[b"\xff"]))


def test_the_end_is_one_word_for_both_tokenizers() -> None:
    """Whatever a model's end tokens are; and an answer that may not end has none."""
    assert WordDialogue("device", _begin(1, 0.0)).exchange._terms.eos == {number_of(END)}
    endless = WordDialogue("device", msgspec.structs.replace(_begin(1, 0.0), eos=[]))
    assert endless.exchange._terms.eos == frozenset()


@pytest.mark.parametrize("seed", range(40))
def test_a_word_that_is_given_up_could_not_have_been_the_target(seed: int) -> None:
    """Whatever it had come to with no more than its bound: the other side's proposal wins, or is that word."""
    rng = random.Random(seed)
    logs = [rng.uniform(-2, 2) for _ in range(2)]
    theirs = Proposal(number_of(b" there"), rng.randint(1, SCALE))
    bound = Proposal(number_of(b" th"), rng.randint(1, SCALE))

    def device() -> Exchange:
        """The device, which has the cloud's draft of the first step."""
        made = WordDialogue("device", _begin(seed, 0.0)).exchange
        draft = Draft(0, made.confirmed.digest, theirs.word, theirs, logs[1], 0.0)
        made.add_draft(CLOUD, draft, 0, made.confirmed.digest)
        return made

    def target(own: Proposal) -> int:
        judging = device()
        judging.add_own(0, judging.confirmed.digest, own, logs[0], 0.0)
        [confirmed] = judging.advance()
        return confirmed.token

    endings = [(b" then", bound.count), (b" then", 1), (b" there", bound.count), (b" the", bound.count // 2 + 1)]
    targets = {target(Proposal(number_of(text), count)) for text, count in endings}
    giving_up = device()
    given_up = giving_up.concedes(0, giving_up.confirmed.digest, bound, logs[0])
    assert given_up == (targets == {theirs.word})
    if given_up:
        assert target(bound) == theirs.word


def test_nobody_gives_up_where_a_third_party_may_agree() -> None:
    """In a group, above temperature 0, alone, and for a step that is not the next one."""
    theirs, bound = Proposal(number_of(b" there"), SCALE), Proposal(number_of(b" th"), 1)
    for temperature, judges in ((0.0, "leader"), (1.0, "both")):
        exchange = WordDialogue("device", _begin(1, temperature), judges=judges).exchange
        prefix = exchange.confirmed.digest
        exchange.parties.set_present((CLOUD,))
        exchange.add_draft(CLOUD, Draft(0, prefix, theirs.word, theirs, 0.0, 0.0), 0, prefix)
        assert not exchange.concedes(0, prefix, bound, 0.0)
    exchange = WordDialogue("device", _begin(1, 0.0)).exchange
    exchange.add_draft(CLOUD, Draft(0, prefix, theirs.word, theirs, 0.0, 0.0), 0, prefix)
    assert exchange.concedes(0, exchange.confirmed.digest, bound, 0.0)
    assert not exchange.concedes(0, 7, bound, 0.0)
    exchange.go_alone(True)
    assert not exchange.concedes(0, exchange.confirmed.digest, bound, 0.0)
