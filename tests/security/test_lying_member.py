"""A member that lies: it forces beginnings, claims what no scorer gives, floods, and sends drafts of other sessions."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
from test_lying_cloud import BEGINNING, FLAT, VALUE, VOCABULARY, begin, private, sharp

from hocket_bus.errors import BadMessage, BadRequest
from hocket_bus.messages import Draft, Target
from hocket_daemon.aggregation.dialogue import Dialogue, Effects
from hocket_daemon.aggregation.exchange.parties import LEADER, MAX_HELD
from hocket_daemon.aggregation.exchange.sampler import MIN_OF_DEVICE
from hocket_daemon.aggregation.steering import Guard
from hocket_daemon.aggregation.weights.likelihood_ratio import steps_of
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.serving.stream.prefix import PrefixChain

MOST_SAY = 0.9


class Session:
    """The asked device with an honest member, ben, and one that lies, mallory."""

    def __init__(self, guard: Guard = "off", weights: str = "static") -> None:
        self.begin = begin(weights=weights)
        self.dialogue = Dialogue(
            "device", self.begin, judges="leader", guard=guard, most_say=MOST_SAY, vocabulary=VOCABULARY
        )
        self.exchange = self.dialogue.exchange
        for name in ("ben", "mallory"):
            self.dialogue.open(name)
        self.dialogue.set_present(("ben", "mallory"))
        self.expelled: set[str] = set()
        self.received: list[int] = []  # the tokens that mallory is sent

    def step(self, lie: Distribution, log_h: float) -> None:
        """Everybody drafts the next step; the tokens are sent to who is still there."""
        self.sends("ben", private(list(self.exchange.confirmed.ids)), 5.0)
        if "mallory" not in self.expelled:
            self.sends("mallory", lie, log_h)
        while (step := self.exchange.next_step()) is not None and not self.exchange.ended:
            drafted = self.exchange.drafted
            self.act(self.dialogue.own(step, drafted.digest, private(list(drafted.ids)), 6.0, 0.01))

    def act(self, effects: Effects) -> None:
        """Send what is to be sent, and expel who steers, as the leader does."""
        for name, message in effects.send:
            if name == "mallory" and name not in self.expelled and isinstance(message, Target):
                self.received += message.ids
        if steers := self.exchange.parties.steers:
            self.expelled |= steers
            self.act(self.dialogue.set_present({"ben", "mallory"} - self.expelled))

    def draft(self, distribution: Distribution, log_h: float | None, **changed: object) -> Draft:
        at = PrefixChain(self.begin.session, self.begin.sampling.seed)
        for token in self.exchange.confirmed.ids:
            at.append(token)
        message = Draft(
            session=self.begin.session, epoch=0, step=len(at), prefix=at.digest, confirmed=len(at), digest=at.digest,
            token=int(distribution.ids[0]), log_h=log_h, decode_s=0.01, likelihoods=None,
            payload=codec.encode(distribution),
        )  # fmt: skip
        return msgspec.structs.replace(message, **changed)

    def sends(self, name: str, distribution: Distribution, log_h: float | None, **changed: object) -> None:
        self.act(self.dialogue.receive(self.draft(distribution, log_h, **changed), name))


@pytest.mark.parametrize("seed", range(50))
def test_of_fifty_forced_beginnings_none_is_finished_for_who_forces_it(seed: int) -> None:
    """Where it is left, no token of the value is told it; without the rule it hears the value, so the law can fail."""
    rng = random.Random(seed)
    forced = rng.uniform(9.0, 10.6)
    for guard in ("off", "leaves"):
        session = Session(guard)  # type: ignore[arg-type]
        while not session.exchange.ended:
            at = len(session.exchange.confirmed)
            forces = at < len(BEGINNING)
            lie = Distribution(np.array([BEGINNING[at]]), np.array([9]), 1.0) if forces else FLAT
            session.step(lie, forced if forces else -9.0)
        assert session.exchange.confirmed.ids[: len(BEGINNING)] == BEGINNING
        assert VALUE[0] in session.exchange.confirmed.ids, "the reader gets it"
        assert bool(set(session.received) & set(VALUE)) == (guard == "off")
        assert session.expelled == (set() if guard == "off" else {"mallory"})
        assert set(session.exchange.traces[-1].others) == ({"ben", "mallory"} - session.expelled)


def test_no_member_has_more_than_its_most_and_none_of_them_silences_the_device() -> None:
    """Whatever log h it claims within what scorers give; where it claims more it is refused."""
    session = Session()
    session.step(sharp(7), 10.6)
    own, parties = session.draft(sharp(3), 6.0), session.exchange.parties
    read = session.dialogue._messages.draft
    claimed = {"ben": 10.6, "mallory": 10.6}

    def shares_by_claims() -> dict[str, float]:
        for name, log_h in claimed.items():
            parties.add_draft(name, read(session.draft(FLAT, log_h)), 1)
        return {part.name: part.eta for part in parties.weighed(read(own))}

    shares = shares_by_claims()
    assert shares["mallory"] == shares["ben"] < MOST_SAY
    claimed["ben"] = 0.0
    shares = shares_by_claims()
    assert shares["mallory"] == pytest.approx(MOST_SAY, abs=1e-6)
    assert shares[""] >= MIN_OF_DEVICE
    assert session.exchange.traces[0].others["mallory"] > 0.5, "it does lead within the bounds"
    for log_h in (1e6, 11.0, -1e6, float("inf"), float("nan")):
        with pytest.raises(BadRequest, match="relevance score out of range"):
            session.sends("mallory", sharp(7), log_h)


def test_what_is_of_no_use_is_dropped_and_what_cannot_be_read_is_refused() -> None:
    """Of another epoch, step or prefix; more than are held; of tokens that the model does not have; half a payload."""
    session = Session()
    assert not session.dialogue.is_current("mallory", session.draft(FLAT, 1.0, epoch=1))
    assert not session.dialogue.is_current("eve", session.draft(FLAT, 1.0))
    for step in (*range(10 * MAX_HELD), 2**31):
        session.sends("mallory", FLAT, 1.0, step=step, prefix=step + 1)
    held = session.exchange.parties._parties["mallory"].drafts
    assert len(held) <= min(MAX_HELD, session.begin.sampling.max_tokens)
    session.sends("ben", FLAT, 1.0)
    assert not session.exchange.confirmed.ids, "a draft behind another prefix decided a step"
    with pytest.raises(BadRequest, match="does not have"):
        session.sends("mallory", FLAT, 1.0, token=VOCABULARY)
    with pytest.raises(BadMessage):
        session.sends("mallory", FLAT, 1.0, payload=codec.encode(FLAT)[:-1])
    with pytest.raises(BadMessage):
        session.sends("mallory", FLAT, 1.0, likelihoods=b"\xff" * 3)


def test_a_member_that_hides_how_it_reads_the_question_has_no_draft() -> None:
    """Where parties are compared by that, nobody is weighed who has not told it."""
    session = Session(weights="likelihood")
    session.dialogue.add_likelihoods(np.log(np.full(4, 0.5)))
    session.sends("mallory", sharp(7), 1.0)
    parties = session.exchange.parties
    assert not parties._parties["mallory"].drafts
    told = np.array(steps_of(np.log(np.full(9, 1.0))), ">u2").tobytes()
    session.sends("mallory", sharp(7), 1.0, likelihoods=told)
    assert parties._advantages_of((LEADER, "mallory")) == {LEADER: 0.0, "mallory": 0.0}


def test_only_the_devices_word_is_told() -> None:
    """A member's target is nothing to the asked device."""
    session = Session()
    session.act(session.dialogue.receive(session.dialogue.target("mallory", 0), "mallory"))
    assert not session.exchange.confirmed.ids
