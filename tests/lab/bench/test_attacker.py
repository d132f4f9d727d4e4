"""The attacker's arithmetic: what it learns is Bayes' rule over what it observed, and it hears what was drawn."""

from __future__ import annotations

import random

import numpy as np
import pytest

from exact import exact
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from hocket_daemon.serving.session_account import SessionAccount
from hocket_lab.bench.privacy.attacker import PRIOR_BITS, SECRET, VALUES, Attack, Settings, Trial, ValueRows, kinds
from hocket_lab.forcing import read_at_once


def test_what_is_learnt_is_what_makes_the_true_value_likelier() -> None:
    """Nothing where all values explain it alike, all where one does, and less than nothing where another does."""
    trial = Trial(3, 0.0)
    assert trial.learned == pytest.approx(0.0)
    trial.surprise += 40.0
    trial.surprise[3] = 5.0
    assert trial.learned == pytest.approx(PRIOR_BITS, abs=1e-6)
    trial.surprise[3], trial.surprise[4] = 6.0, 5.0
    assert trial.learned == pytest.approx(PRIOR_BITS + np.log2(1 / 3), abs=1e-6)


def test_every_kind_has_its_values() -> None:
    """Sixteen different ones, and questions that name none of them."""
    for kind in kinds(random.Random(4)):
        assert len(set(kind.values)) == VALUES
        assert not any(value in question for value in kind.values for question in kind.questions)


def test_a_replay_is_as_likely_as_the_draw_and_charged_alike() -> None:
    """In the world of the true value; and the device says the same as without an attacker who listens."""
    model = open_model(exact(name="bundled", slots=VALUES + 1, context=512), "device")
    kind = next(kinds(random.Random(4)))
    attack = Attack(model, kind, Settings())
    texts = [kind.text.format(value) for value in kind.values]
    group = read_at_once(model, kind.questions[0], texts, task="answer", room=64, alone=True)
    rows = ValueRows(group)
    worlds = [DisclosureAccount(None, DisclosureBounds(6.0)) for _ in range(2)]
    sessions = [SessionAccount(world, "attacker") for world in worlds]
    for session in sessions:
        session.read([SECRET])
    numbers, uniform = list[int](), random.Random(5)
    for _ in range(6):
        observed = attack.word(rows, numbers, 2, sessions[0], uniform=uniform)
        again = attack.word(rows, numbers, 2, sessions[1], uniform=uniform, replayed=observed.drawn)
        assert again == observed
        numbers.append(observed.word)
    charged = [sum(each.bits for each in world.entries()) for world in worlds]
    assert charged[0] == pytest.approx(charged[1])
    assert 0.0 < charged[0] <= 6.0 + 1e-9
    group.close()
