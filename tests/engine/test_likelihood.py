"""How likely a passage makes the question: as teacher forcing says, however the prompts were cut into passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_voice import FakeVoice

from exact import exact
from hocket_daemon.engine.backends.transformers_voice import TransformersVoice
from hocket_daemon.engine.runtime.likelihood import LEAST, MOST_TOKENS, Likelihoods
from hocket_daemon.engine.segments import Segment, in_passes, wanted
from hocket_daemon.engine.settings import KVSettings
from hocket_lab.forcing import Forced, read_at_once

QUESTION = "kala mira duno soretu limba?"
PASSAGES = ["tano meku relado", "sina borita kulo namira ditu", ""]


@pytest.mark.parametrize("prefill_tokens", [7, 128])
def test_a_group_hears_what_teacher_forcing_says(
    tiny_models: dict[str, Path], tmp_path: Path, prefill_tokens: int
) -> None:
    """Of each passage; kept documents change nothing, and the answer begins as it does where nothing is heard."""
    settings = exact(name=str(tiny_models["device"]), prefill_tokens=prefill_tokens, slots=8)
    voice = TransformersVoice(settings, "device", KVSettings(folder=str(tmp_path)))
    layout = voice.layout("answer")
    query, own = layout.question(QUESTION), layout.own(QUESTION)
    assert voice.text([query[at] for at in own]).strip() == QUESTION
    plain, forced = read_at_once(voice, QUESTION, PASSAGES, task="answer", room=4), Forced(voice)
    for _ in range(2):  # the second time documents are restored
        group = read_at_once(voice, QUESTION, PASSAGES, task="answer", room=4, heard=True)
        np.testing.assert_allclose(
            group.distribution([], [0.5, 0.3, 0.2]), plain.distribution([], [0.5, 0.3, 0.2]), atol=1e-6
        )
        for passage, heard in zip(PASSAGES, group.likelihoods, strict=True):
            said = forced.score([*layout.document(passage), *query], len(query))
            np.testing.assert_allclose(heard, [np.log(said[at][query[at]]) for at in own], atol=1e-3)
        group.close()
        assert voice.stored is not None
        voice.stored.close()
    assert plain.likelihoods.shape == (0, 0)


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_passes_of_any_size_give_the_same_logs(most: int) -> None:
    """To the last bit, so that who else is served has no say in a weight."""
    voice, text, part = FakeVoice(seed=3), list(range(2, 40)), range(4, 30)

    def logs(size: int) -> list[list[float]]:
        rows = voice.slots.take(3)
        heard = Likelihoods(rows, text, part)
        for segment in in_passes(rows, [text] * 3, size, every=True):
            heard.add(segment, voice.read([segment])[0])
        voice.slots.give_back(rows)
        assert heard.last.shape == (3, voice.vocabulary)
        assert heard.logs.shape == (3, len(part))
        return heard.logs.tolist()  # type: ignore[no-any-return]

    assert logs(most) == logs(13)


def test_no_token_is_less_likely_than_the_bound() -> None:
    """Of a long text the end counts; a text of one token has no part to count."""
    text = [1] * (MOST_TOKENS + 50)
    never = np.tile(np.array([[1.0, 0.0]], np.float32), (len(text), 1))
    heard = Likelihoods([0], text, range(len(text)))
    heard.add(Segment([0], [text], every=True), never)
    np.testing.assert_allclose(heard.logs, np.full((1, MOST_TOKENS), np.log(LEAST)))
    short = Likelihoods([0], [1], range(1))
    short.add(Segment([0], [[1]], every=True), never[:1])
    assert short.logs.shape == (1, 0)


def test_what_is_wanted_stands_in_the_order_of_the_segments() -> None:
    """The last token of a row, or each of them."""
    segments = [Segment([4, 2], [[7], [7, 8]]), Segment([0, 1], [[7, 8], [9]], every=True), Segment([3], [[5, 5, 5]])]
    assert wanted(segments) == ([0, 2, 3, 4, 5, 8], [2, 3, 1])
