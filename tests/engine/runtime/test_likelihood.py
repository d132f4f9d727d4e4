"""How likely a passage makes the question: as teacher forcing says, however the prompts were cut into passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_model import FakeModel

from exact import exact
from hocket_bus.messages import Prompt
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.runtime.likelihood import MAX_TOKENS, MINIMUM, log_likelihoods
from hocket_daemon.engine.segments import Segment, in_passes, wanted
from hocket_daemon.engine.settings import KVSettings
from hocket_lab.forcing import Forced, distribution, read_at_once

QUESTION = "kala mira duno soretu limba?"
PASSAGES = ["tano meku relado", "sina borita kulo namira ditu", ""]


@pytest.mark.parametrize("prefill_tokens", [7, 128])
def test_a_group_hears_what_teacher_forcing_says(
    tiny_models: dict[str, Path], tmp_path: Path, prefill_tokens: int
) -> None:
    """Of each passage; kept documents change nothing, and the answer begins as it does where nothing is heard."""
    settings = exact(name=str(tiny_models["device"]), prefill_tokens=prefill_tokens, slots=8)
    model = TransformersModel(settings, "device", KVSettings(folder=str(tmp_path)))
    layout = model.layout("answer")
    query, own = layout.question(Prompt(query=QUESTION)), layout.own(Prompt(query=QUESTION))
    assert model.text([query[at] for at in own]).strip() == QUESTION
    plain, forced = read_at_once(model, QUESTION, PASSAGES, task="answer", room=4), Forced(model)
    for _ in range(2):  # the second time documents are restored
        group = read_at_once(model, QUESTION, PASSAGES, task="answer", room=4, likelihood=True)
        np.testing.assert_allclose(
            distribution(group, [], [0.5, 0.3, 0.2]), distribution(plain, [], [0.5, 0.3, 0.2]), atol=1e-6
        )
        for passage, heard in zip(PASSAGES, group.likelihoods, strict=True):
            said = forced.score([*layout.document(passage), *query], len(query))
            np.testing.assert_allclose(heard, [np.log(said[at][query[at]]) for at in own], atol=1e-3)
        group.close()
        assert model.stored is not None
        model.stored.close()
    assert plain.likelihoods.shape == (0, 0)


@pytest.mark.parametrize("maximum", [1, 5, 1000])
def test_passes_of_any_size_give_the_same_probabilities(maximum: int) -> None:
    """To the last bit, so that who else is served has no say in a weight."""
    model, text = FakeModel(seed=3), list(range(2, 40))

    def given(size: int) -> list[float]:
        rows, said = model.slots.take(3), list[float]()
        for segment in in_passes(rows, [text] * 3, size, [text[1:]] * 3):
            (read,) = model.read([segment])
            assert len(read) == len(segment.rows)
            said += read.given.tolist()
        model.slots.give_back(rows)
        return said

    alone = [float(model.distribution(text[:at])[text[at]]) for at in range(1, len(text))]
    assert given(maximum) == given(13) == alone * 3


def test_no_token_is_less_likely_than_the_bound() -> None:
    """Of a long text the end counts; a text of one token has no part to count."""
    never = np.zeros((1, MAX_TOKENS + 49), np.float32)
    logs = log_likelihoods(never, range(MAX_TOKENS + 50))
    np.testing.assert_allclose(logs, np.full((1, MAX_TOKENS), np.log(MINIMUM)))
    assert log_likelihoods(np.zeros((1, 0), np.float32), range(1)).shape == (1, 0)


def test_the_part_that_counts_is_the_texts_own() -> None:
    """The first of `given` is the second token's; it cannot be known how likely the first was."""
    given = np.array([[0.1, 0.2, 0.3, 0.4]], np.float32)
    np.testing.assert_allclose(np.exp(log_likelihoods(given, range(2, 4))), [[0.2, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(np.exp(log_likelihoods(given, range(5))), given, rtol=1e-6)


def test_what_is_wanted_stands_in_the_order_of_the_segments() -> None:
    """The last token of a row, or each of them; and those before an id that is asked for."""
    segments = [
        Segment([4, 2], [[7], [7, 8]]),
        Segment([0, 1], [[7, 8], [9]], every=True),
        Segment([3, 5], [[5, 5, 5], [6]], given=[[6, 7], []]),
    ]
    assert wanted(segments) == (
        [0, 2, 3, 4, 5, 6, 7, 8, 9],
        [[0, 1], [2, 3, 4], [7, 8]],
        [[], [], [(5, 6), (6, 7)]],
    )
