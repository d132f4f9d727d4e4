"""What a side says of the question reaches the other one before anything is decided by it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from hocket_bus.messages import Begin, Draft, Message, Prompt, Sampling, Side
from hocket_daemon.aggregation.dialogue import Dialogue
from hocket_daemon.aggregation.exchange.parties import LEADER
from hocket_daemon.engine.sampling.distribution import truncate
from hocket_daemon.privacy.history import CLOUD

FLAT = truncate(np.full(8, 1 / 8, np.float32), 1.0)
BEGIN = Begin(
    session=bytes(16), epoch=0, prompt=Prompt(query="Who?"), task="answer", sampling=Sampling(seed=1, max_tokens=6),
    method="coupled", documents=1, eos=[], weights="likelihood",
    reweigh_every=4, relevance_temperature=0.1, wire_mass=1.0,
)  # fmt: skip
NOTHING = {LEADER: 0.0, CLOUD: 0.0}
HEARD: dict[Side, np.ndarray] = {"device": np.array([-0.1, -4.0]), "cloud": np.array([-3.0, -0.5])}


def drafts(dialogue: Dialogue, number: int) -> list[Draft]:
    """What it sends of so many own drafts."""
    sent: list[Message] = []
    for _ in range(number):
        drafted = dialogue.exchange.drafted
        sent += [message for _, message in dialogue.own(len(drafted), drafted.digest, FLAT, 0.0, 0.01).send]
    return told(sent)


def told(sent: list[Message]) -> list[Draft]:
    return [message for message in sent if isinstance(message, Draft)]


def gains(dialogue: Dialogue) -> dict[str, float]:
    """Return the nats that each side's passages gain by explaining the question."""
    return dialogue.exchange.parties._advantages_of((LEADER, CLOUD))


@pytest.fixture
def sides() -> dict[Side, Dialogue]:
    """Both have read."""
    both: dict[Side, Dialogue] = {side: Dialogue(side, BEGIN) for side in HEARD}
    for side, dialogue in both.items():
        dialogue.add_likelihoods(HEARD[side])
    return both


def test_the_first_draft_tells_and_both_sides_lean_alike(sides: dict[Side, Dialogue]) -> None:
    """Whoever hears it first."""
    first = {side: drafts(dialogue, 3) for side, dialogue in sides.items()}
    for sent in first.values():
        assert [draft.likelihoods is not None for draft in sent] == [True, False, False]
    sides["device"].receive(first["cloud"][0])
    sides["cloud"].receive(first["device"][0])
    assert gains(sides["device"]) == gains(sides["cloud"]) != NOTHING


def test_drafts_decide_nothing_before_the_likelihoods_are_known(sides: dict[Side, Dialogue]) -> None:
    """Where the draft that told them was lost; whoever is greeted anew is told again."""
    drafts(sides["device"], 3)
    lost, *behind = drafts(sides["cloud"], 3)
    for draft in behind:
        assert not sides["device"].receive(draft).confirmed
    assert sides["device"].remote_drafts == 0
    greeting = sides["device"].rejoin().send
    for _, message in greeting:
        for _, answer in sides["cloud"].receive(message).send:  # type: ignore[arg-type]
            sides["device"].receive(answer)  # type: ignore[arg-type]
    assert lost.likelihoods is not None
    assert gains(sides["device"]) != NOTHING
    assert sides["device"].remote_drafts == 3


def test_a_new_epoch_forgets_what_the_other_side_said(sides: dict[Side, Dialogue]) -> None:
    """It may have begun anew, with other passages."""
    device, cloud = sides["device"], sides["cloud"]
    drafts(device, 1)
    device.receive(drafts(cloud, 1)[0])
    device.rejoin()
    heard, later = device.remote_drafts, Dialogue("cloud", msgspec.structs.replace(BEGIN, epoch=device.epoch))
    later.add_likelihoods(HEARD["cloud"])
    (anew,) = drafts(later, 1)
    device.receive(msgspec.structs.replace(anew, likelihoods=None))
    assert device.remote_drafts == heard
    device.receive(anew)
    assert device.remote_drafts == heard + 1


def test_a_device_that_keeps_its_drafts_tells_nothing() -> None:
    """Nor a draft, nor how likely its passages make the question."""
    device = Dialogue("device", BEGIN, shares_drafts=False)
    device.add_likelihoods(HEARD["device"])
    assert drafts(device, 3) == []
    assert device.unconfirmed_drafts() == []
