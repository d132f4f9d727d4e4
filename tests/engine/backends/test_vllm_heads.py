"""What a sampler of vLLM's tells of rows, which is cut on the device, beside what it tells of a prompt's tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from transformers import Qwen2Config
from vllm_here import SMALL, needs_vllm

from exact import exact
from hocket_daemon.engine.backends.cut import MASS, MAX_IDS
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.segments import Segment
from hocket_lab.bench.speed.gpu import save

WIDE = Qwen2Config(
    vocab_size=9000, hidden_size=128, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=2, max_position_embeddings=256, tie_word_embeddings=True,
)  # fmt: skip


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.long)])
def wide(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LanguageModel]:
    """Its vocabulary is longer than a head, on one process and on two."""
    from hocket_daemon.engine.backends.vllm.vllm_model import VllmModel

    save(WIDE, str(tmp_path))
    engine = SMALL | {"tensor_parallel_size": request.param}
    model = VllmModel(exact(name=str(tmp_path), slots=4, context=200, vllm=engine), "cloud")
    yield model
    model.close()


@needs_vllm
def test_behind_its_last_token_a_row_is_told_what_it_is_behind_every_one(wide: LanguageModel) -> None:
    """Ids, probabilities and the mass that is left out; also where rows end beside others in the same pass."""
    rng = random.Random(6)
    ids = [rng.randrange(3, wide.vocabulary) for _ in range(24)]
    rows = wide.slots.take(4)
    (every,) = wide.read([Segment(rows[:1], [ids], every=True)])
    lasts = wide.read([Segment(rows[1:3], [ids[:6], ids[:15]]), Segment(rows[3:], [ids])])
    wide.slots.give_back(rows)
    assert every.probabilities.shape == (24, MAX_IDS)
    table = every.dense(wide.vocabulary)
    found = np.concatenate([each.dense(wide.vocabulary) for each in lasts])
    for there, here in zip(found, table[[5, 14, 23]], strict=True):
        assert there.sum() > MASS - 1e-4
        assert np.count_nonzero(there) < MAX_IDS
        assert np.count_nonzero((there > 0) != (here > 0)) <= 3
        both = (there > 0) & (here > 0)
        np.testing.assert_allclose(np.log(there[both]), np.log(here[both]), atol=1e-4)
        assert there.sum() == pytest.approx(here.sum(), abs=1e-4)
