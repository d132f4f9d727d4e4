"""A cloud that lies: it forces a beginning, gives way, and is not there any more when the private value comes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_bus.errors import BadRequest
from hocket_bus.messages import WEIGHTS, Begin, Draft, Method, Prompt, Sampling, Target
from hocket_daemon.aggregation.dialogues import dialogue_type
from hocket_daemon.aggregation.exchange.sampler import MIN_OF_DEVICE, eta_device
from hocket_daemon.aggregation.steering import LOOSE, STRICT, Bounds, Guard, Steering, guard
from hocket_daemon.aggregation.weights.relevance import claims
from hocket_daemon.engine.runtime.likelihood import MAX_TOKENS, MINIMUM
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution, truncate
from hocket_daemon.privacy.history import CLOUD
from hocket_daemon.serving.search.passage_weights import weigh
from hocket_daemon.serving.stream.prefix import PrefixChain

VOCABULARY = 50
GUARDS: tuple[Guard, ...] = ("off", "warns", "leaves")
BEGINNING = [11, 12, 13, 14]
VALUE = [21, 22, 23]
FLAT = truncate(np.full(VOCABULARY, 1 / VOCABULARY), 0.98)


def begin(method: Method = "coupled", weights: str = "static", temperature: float = 0.0) -> Begin:
    sampling = Sampling(seed=7, temperature=temperature, top_p=0.9, max_tokens=12)
    return Begin(
        session=bytes(16), epoch=0, prompt=Prompt(query=""), task="answer", sampling=sampling, method=method,
        documents=2, eos=[],
        weights=weights, reweigh_every=4, relevance_temperature=0.1, wire_mass=0.98,
    )  # type: ignore[arg-type]  # fmt: skip


def sharp(token: int, share: float = 0.99) -> Distribution:
    rest = (1 - share) / (VOCABULARY - 1)
    return truncate(np.where(np.arange(VOCABULARY) == token, share, rest), 0.98)


def private(ids: list[int]) -> Distribution:
    """A device that says nothing of the value, unless somebody begins the sentence that it stands in."""
    if ids[: len(BEGINNING)] == BEGINNING and len(ids) < len(BEGINNING) + len(VALUE):
        return sharp(VALUE[len(ids) - len(BEGINNING)], 0.7)
    return sharp(1 + len(ids) % 5, 0.9)


class Device:
    """The device's half of a session, and everything that leaves it."""

    def __init__(self, opening: Begin, *, drafts: bool, guard: Guard = "leaves") -> None:
        self.dialogue = dialogue_type(opening)(
            "device", opening, shares_drafts=drafts, guard=guard, vocabulary=VOCABULARY
        )
        self.sent: list[object] = []
        self._begin = opening

    def drafts(self) -> None:
        exchange = self.dialogue.exchange
        while (step := exchange.next_step()) is not None and not exchange.parties.steers:
            drafted = exchange.drafted
            made = self.dialogue.own(step, drafted.digest, private(list(drafted.ids)), 6.0, 0.01)
            self.sent += [message for _, message in made.send]

    def hears(self, distribution: Distribution, log_h: float | None = 7.0) -> None:
        exchange = self.dialogue.exchange
        at = PrefixChain(self._begin.session, self._begin.sampling.seed)
        for token in exchange.confirmed.ids:
            at.append(token)
        message = Draft(
            session=self._begin.session, epoch=0, step=len(at), prefix=at.digest, confirmed=len(at), digest=at.digest,
            token=int(distribution.ids[0]), log_h=log_h, decode_s=0.01, likelihoods=b"",
            payload=codec.encode(distribution),
        )  # fmt: skip
        self.sent += [message for _, message in self.dialogue.receive(message).send]

    @property
    def told(self) -> list[int]:
        """The tokens that the cloud was told."""
        return [token for message in self.sent if isinstance(message, Target) for token in message.ids]


# --- bounds


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=8),
    st.sampled_from([1e-6, 0.03, 0.1, 1.0, 50.0]),
    st.integers(0, 4),
)
def test_every_honest_claim_is_in_range(scores: list[float], temperature: float, fewer: int) -> None:
    """Whatever a cosine or a probability is, and where fewer passages were found than were asked for."""
    minimum, maximum = claims("likelihood", len(scores) + fewer, temperature)
    assert minimum <= (weigh(scores, temperature)[1] or 0.0) <= maximum
    heard = np.random.default_rng(len(scores)).uniform(np.log(MINIMUM), 0.0, (len(scores), MAX_TOKENS))
    for at in range(len(scores)):
        explains_all = np.where(np.arange(len(scores))[:, None] == at, 0.0, heard)
        assert minimum <= (weigh(scores, temperature, explains_all)[1] or 0.0) <= maximum
    minimum, maximum = claims("off", len(scores) + fewer, temperature)
    assert minimum <= (weigh([0.0] * len(scores), temperature)[1] or 0.0) <= maximum


@pytest.mark.parametrize(
    ("weights", "log_h"),
    [
        (weights, log_h)
        for weights in WEIGHTS
        for log_h in (1e6, -1e6, 11.0, -10.1, float("inf"), float("-inf"), float("nan"))
    ],
)
def test_a_claim_that_no_scorer_gives_is_refused(weights: str, log_h: float) -> None:
    """By both sides, before it decides anything."""
    device = Device(begin(weights=weights), drafts=False)
    device.drafts()
    with pytest.raises(BadRequest, match="a relevance score out of range"):
        device.hears(FLAT, log_h)
    assert device.told == []


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_no_claim_silences_the_device(own: float, other: float) -> None:
    """While a device without documents says nothing, as before."""
    assert MIN_OF_DEVICE <= eta_device(own, other) <= 1
    assert eta_device(None, other) == 0


# --- the rule


def shares(rng: random.Random, token: int, share: float) -> Distribution:
    rest = [rng.random() for _ in range(VOCABULARY)]
    rest[token] = 0.0
    scale = (1 - share) / sum(rest)
    return truncate(np.array([share if at == token else scale * each for at, each in enumerate(rest)]), 0.98)


@pytest.mark.parametrize("seed", range(20))
def test_only_one_side_leading_behind_the_other_is_steering(seed: int) -> None:
    """A cloud that knows leads all along, or a device does, or the device first: none is a reason to part."""
    rng = random.Random(seed)
    for leaders in ("cloud " * 12, "device " * 12, "device " * 6 + "cloud " * 6):
        rule = Steering()
        for leader in leaders.split():
            token = rng.randrange(VOCABULARY)
            knows, does_not = shares(rng, token, 0.95), shares(rng, token, 0.02)
            own, other = (knows, does_not) if leader == "device" else (does_not, knows)
            assert not rule.add(own, other, token)
    assert rule.has_pushed


@given(
    st.sampled_from([STRICT, LOOSE]), st.lists(st.tuples(st.floats(0.001, 0.97), st.floats(0.001, 0.97)), max_size=40)
)
def test_behind_a_push_no_run_gives_more_than_its_bound(bounds: Bounds, steps: list[tuple[float, float]]) -> None:
    """Whatever the sides say: the nats of any run of tokens that were said behind a push are at most `given`."""
    rng, rule, said = random.Random(0), Steering(bounds), []
    for own, other in steps:
        pushed = rule.has_pushed
        here, there = shares(rng, 5, own), shares(rng, 5, other)
        if rule.add(here, there, 5):
            break
        if pushed:
            said.append((1 + bounds.sure) * np.log(_share(here)) - np.log(_share(there)))
    runs = (sum(said[first:last]) for first in range(len(said)) for last in range(first + 1, len(said) + 1))
    assert max(runs, default=0.0) <= bounds.given + 1e-9


def _share(distribution: Distribution) -> float:
    inside = distribution.probabilities[distribution.ids == 5]
    return max(1e-4, float(inside[0]) * distribution.kept if len(inside) else 0.0)


# --- in a session


def test_a_cloud_is_left_where_drafts_stay_at_home() -> None:
    """Where they are shared the reader is warned; who trusts the cloud is told nothing."""
    for shares_drafts in (False, True):
        assert guard(trusts=True, shares_drafts=shares_drafts) == "off"
        assert guard(trusts=False, shares_drafts=shares_drafts) == ("warns" if shares_drafts else "leaves")


@pytest.mark.parametrize("method", ["coupled", "sync", "sync-both", "independent"])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_no_token_of_the_value_is_told_where_the_device_keeps_its_drafts(method: Method, temperature: float) -> None:
    """Forced within the bounds, by one token of mass 1 a step; then the cloud gives way. Without the rule it hears."""
    for kind in GUARDS:
        watches = kind == "leaves"
        device = Device(begin(method, temperature=temperature), drafts=False, guard=kind)
        exchange = device.dialogue.exchange
        while not exchange.ended and not exchange.parties.steers:
            device.drafts()
            at = len(exchange.confirmed)
            forces = at < len(BEGINNING)
            device.hears(
                Distribution(np.array([BEGINNING[at]]), np.array([9]), 1.0) if forces else FLAT,
                10.6 if forces else -9.0,
            )
        assert exchange.parties.steers == ({CLOUD} if watches else set())
        assert exchange.parties.doubted == ({CLOUD} if kind == "warns" else set())
        assert exchange.confirmed.ids[: len(BEGINNING)] == BEGINNING
        assert any(token in VALUE for token in told(device)) != watches
        if watches:
            alone = device.dialogue.go_alone()
            device.drafts()
            assert (alone.confirmed[0].token, alone.confirmed[0].source) == (VALUE[0], "solo"), "the reader gets it"


def told(device: Device) -> list[int]:
    return device.told + [message.token for message in device.sent if hasattr(message, "accepted_device")]
