"""vLLM's rows against transformers: whatever is appended, cut, interrupted or closed, a row is its tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from vllm_here import SMALL, needs_vllm

from exact import exact
from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.engine.backends.vllm import vllm_engine
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.segments import Segment
from hocket_daemon.engine.settings import BUNDLED

SLOTS, CONTEXT, PART = 8, 300, 96


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.long)])
def vllm(request: pytest.FixtureRequest) -> Iterator[LanguageModel]:
    """On one process, and on two that hold half of each layer."""
    engine = SMALL | {"tensor_parallel_size": request.param}
    settings = exact(name=BUNDLED, engine="vllm", slots=SLOTS, context=CONTEXT, prefill_tokens=PART, vllm=engine)
    model = open_model(settings, "cloud")
    yield model
    model.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def transformers() -> TransformersModel:
    return TransformersModel(exact(name=BUNDLED, slots=1, context=CONTEXT), "cloud")


class Twin:
    """Rows of vLLM, and what they are to hold."""

    def __init__(self, vllm: LanguageModel, other: TransformersModel, seed: int) -> None:
        self.vllm, self.other, self.rng = vllm, other, random.Random(seed)
        self.texts: dict[int, list[int]] = {}
        self.document = self.some(70)  # that many rows begin with
        self.worst, self.interrupted = 0.0, 0

    def some(self, tokens: int) -> list[int]:
        return [self.rng.randrange(3, self.vllm.vocabulary) for _ in range(tokens)]

    def truth(self, tokens: list[int]) -> NDArray[np.float32]:
        """[tokens, vocabulary] behind each, by transformers."""
        (row,) = self.other.slots.take(1)
        (heads,) = self.other.read([Segment([row], [tokens], every=True)])
        self.other.slots.give_back([row])
        return heads.probabilities

    def cut(self, row: int, length: int) -> None:
        del self.texts[row][length:]
        self.vllm.slots.roll_back(row, length)

    def come_and_go(self) -> None:
        """Rows are opened, cut by a little or by much, and closed."""
        if len(self.texts) < 4:
            self.texts |= {row: [] for row in self.vllm.slots.take(2)}
        for row, text in self.texts.items():
            if text and self.rng.random() < 0.5:
                few = len(text) - self.rng.randint(0, min(len(text), 5))
                self.cut(row, few if self.rng.random() < 0.8 else len(text) // 2)
        if self.rng.random() < 0.1:
            row = self.rng.choice(list(self.texts))
            self.vllm.slots.give_back([row])
            del self.texts[row]

    def interrupt(self) -> None:
        """Fill all rows, where that takes several passes, and let one pass; they are then what they were."""
        if sum(CONTEXT - len(text) for text in self.texts.values()) < 2 * CONTEXT:
            return
        segments = [Segment([row], [self.some(CONTEXT - len(text))]) for row, text in self.texts.items()]
        before = list(self.vllm.slots.lengths)
        with pytest.raises(Preempted):
            self.vllm.read(segments, AtOnce())
        self.interrupted += 1
        assert self.vllm.slots.lengths == before

    def read(self, way: str) -> None:
        """Lengthen some rows, and compare what is told of them."""
        more = {}
        for row in [row for row in self.texts if self.rng.random() < 0.7]:
            ids = self.some(self.rng.choice((1, 1, 1, 2, 5, 40)))
            if len(self.texts[row]) + len(ids) > CONTEXT:
                self.cut(row, 7)
            more[row] = ids if self.texts[row] else self.document[: self.rng.randint(1, 70)]
        segments = [
            Segment([row], [ids], every=way == "every", given=[ids[1:]] if way == "given" else ())
            for row, ids in more.items()
        ]
        for row, heads in zip(more, self.vllm.read(segments), strict=True):
            expected = self.truth(self.texts[row] + more[row])[len(self.texts[row]) :]
            self.texts[row] += more[row]
            self.compare(heads.dense(self.vllm.vocabulary), expected if way == "every" else expected[-1:])
            if way == "given":
                self.compare(heads.given, expected[range(len(more[row]) - 1), more[row][1:]])

    def compare(self, found: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
        assert found.shape == expected.shape
        self.worst = max([self.worst, *np.abs(found - expected).ravel()])


class AtOnce(Interrupt):
    """Set by the time that the first pass has ended."""

    @property
    def is_set(self) -> bool:
        return True


@needs_vllm
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_read_as_transformers_reads_their_tokens(
    vllm: LanguageModel, transformers: TransformersModel, seed: int
) -> None:
    """Behind the last token, behind every one, and of the ids that follow: in any company, after any cut, whether a
    token was decoded, appended or interrupted, and whether others have read the same before."""
    twin = Twin(vllm, transformers, seed)
    for _ in range(40):
        twin.come_and_go()
        if twin.rng.random() < 0.2:
            twin.interrupt()
        twin.read(twin.rng.choice(["last", "last", "every", "given"]))
    vllm.slots.give_back(list(twin.texts))
    assert twin.interrupted
    assert twin.worst < 1e-4


@needs_vllm
def test_a_token_of_the_next_part_is_scored_too(vllm: LanguageModel, transformers: TransformersModel) -> None:
    """A question may be cut anywhere: what follows the last token of a part is known when the part is read."""
    rng = random.Random(3)
    ids = [rng.randrange(3, vllm.vocabulary) for _ in range(30)]
    (row,) = vllm.slots.take(1)
    (first,) = vllm.read([Segment([row], [ids[:12]], given=[ids[1:13]])])
    (second,) = vllm.read([Segment([row], [ids[12:]], given=[ids[13:]])])
    vllm.slots.give_back([row])
    (other,) = transformers.slots.take(1)
    (expected,) = transformers.read([Segment([other], [ids], given=[ids[1:]])])
    transformers.slots.give_back([other])
    np.testing.assert_allclose(np.concatenate([first.given, second.given]), expected.given, atol=1e-5)


@needs_vllm
def test_a_thousand_sessions_leave_no_block_taken(vllm: LanguageModel) -> None:
    """Whatever becomes of them: interrupted, cut and given back. No request is left in vLLM either."""
    rng = random.Random(4)
    scheduler = vllm.slots._engine.scheduler  # type: ignore[attr-defined]
    pool = scheduler.kv_cache_manager.block_pool
    free = pool.get_num_free_blocks()
    for _ in range(1000):
        rows = vllm.slots.take(rng.randint(1, 2))
        vllm.read([Segment(rows, [[rng.randrange(3, 90) for _ in range(rng.randint(1, 40))] for _ in rows])])
        for row in rows:
            vllm.slots.roll_back(row, rng.randint(0, vllm.slots.lengths[row]))
        vllm.slots.give_back(rows)
    assert pool.get_num_free_blocks() == free
    assert not scheduler.requests


@needs_vllm
def test_a_pass_that_fails_ends_the_daemon(vllm: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What vLLM then holds of its rows is not known: nothing is read with it any more."""
    engine, ended = vllm.slots._engine, list[bool]()  # type: ignore[attr-defined]
    monkeypatch.setattr(engine, "_lost", lambda: ended.append(True))
    monkeypatch.setattr(engine._core.engine_core, "step_fn", lambda: 1 // 0)
    rows = vllm.slots.take(1)
    with pytest.raises(ZeroDivisionError):
        vllm.read([Segment(rows, [[5, 6]])])
    vllm.slots.give_back(rows)
    assert ended == [True]


def test_another_version_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """As is none at all: what rows need of vLLM is not public."""
    settings = exact(name=BUNDLED, engine="vllm")
    monkeypatch.setattr(vllm_engine, "_installed", lambda: "0.31.2")
    with pytest.raises(BadConfiguration, match=r"vLLM 0\.31\.2 is not tested"):
        open_model(settings, "cloud")
    monkeypatch.setattr(vllm_engine, "_installed", lambda: None)
    with pytest.raises(BadConfiguration, match=r"hocket\[vllm\]"):
        open_model(settings, "cloud")


def test_what_rows_rest_on_is_not_set_by_others() -> None:
    """A key of vLLM that would make rows wrong is refused by its name."""
    settings = exact(name=BUNDLED, engine="vllm", vllm={"enable_prefix_caching": False})
    with pytest.raises(BadConfiguration, match="enable_prefix_caching"):
        vllm_engine.check_options(settings)
