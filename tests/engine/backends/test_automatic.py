"""Laws of what `auto` means: of the models that are here the one of most weights whose measured step is bearable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hocket_daemon.engine.backends import automatic
from hocket_daemon.engine.backends.automatic import MAX_PROMPT_MS, MAX_STEP_MS, advice, fallback_notice, resolved
from hocket_daemon.engine.backends.format_choice import GGUF, report
from hocket_daemon.engine.catalog.checking import Check
from hocket_daemon.engine.catalog.store import place

SMALL, MIDDLE, LARGE = "smollm2", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"

Got = Callable[..., None]


@pytest.fixture
def got(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Got:
    """Puts a model there, with what its file was measured to take."""
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path))
    monkeypatch.setattr(automatic, "has_gpu", lambda: False)
    monkeypatch.setattr(automatic, "memory_bytes", lambda: 16_000_000_000)

    def put(name: str, step_ms: float, prompt_ms: float = 1.0, refused: str = "") -> None:
        place(name).mkdir()
        (place(name) / GGUF).write_bytes(b"GGUF")
        report(place(name), [Check(GGUF, "quantised", 4.0, None, 0.0, step_ms, refused, prompt_ms)])

    return put


def test_the_largest_that_is_quick_enough_is_taken(got: Got) -> None:
    assert resolved("auto") == "bundled"
    got(SMALL, 20.0)
    assert resolved("auto") == SMALL
    got(MIDDLE, MAX_STEP_MS)
    got(LARGE, MAX_STEP_MS + 1)
    assert resolved("auto") == MIDDLE
    assert f"{MAX_STEP_MS:.0f} ms" in automatic.automatic().why


@pytest.mark.parametrize(
    ("step_ms", "prompt_ms", "memory"),
    [(MAX_STEP_MS + 1, 1.0, 16e9), (20.0, MAX_PROMPT_MS + 0.1, 16e9), (20.0, 1.0, 1.7e9)],
)
def test_what_is_slow_or_large_here_is_not_taken_and_says_so(
    got: Got, monkeypatch: pytest.MonkeyPatch, step_ms: float, prompt_ms: float, memory: float
) -> None:
    monkeypatch.setattr(automatic, "memory_bytes", lambda: int(memory))
    got(SMALL, 20.0)
    got(MIDDLE, step_ms, prompt_ms)
    assert resolved("auto") == SMALL
    assert advice("auto").startswith(f"{MIDDLE} answers better, but ")
    assert f'[model] name = "{MIDDLE}"' in advice("auto")


def test_where_none_is_quick_enough_the_smallest_is_taken_and_says_so(got: Got) -> None:
    """A slow answer is worth more than one of the bundled model."""
    got(MIDDLE, MAX_STEP_MS + 2)
    got(SMALL, MAX_STEP_MS + 1)
    assert resolved("auto") == SMALL
    assert f"though a step takes {MAX_STEP_MS + 1:.0f} ms" in automatic.automatic().why
    assert not fallback_notice("auto", "device")


def test_a_model_that_is_named_is_taken_and_nothing_is_advised(got: Got) -> None:
    got(SMALL, 20.0)
    assert resolved(MIDDLE) == MIDDLE
    assert advice(MIDDLE) == advice("bundled") == fallback_notice("bundled", "device") == ""


def test_the_next_better_one_is_proposed_where_it_would_be_quick_enough(got: Got) -> None:
    """A model's step takes as long as it has weights."""
    assert "hocket model get smollm2" in advice("auto")
    assert fallback_notice("auto", "device")
    got(SMALL, 20.0)
    assert f"hocket model get {MIDDLE}" in advice("auto")
    assert not fallback_notice("auto", "device")
    report(place(SMALL), [Check(GGUF, "quantised", 4.0, None, 0.0, 60.0, "")])
    assert advice("auto") == ""


def test_what_was_got_before_prompts_were_measured_is_taken_by_its_step(got: Got) -> None:
    got(MIDDLE, 20.0, prompt_ms=0.0)
    assert resolved("auto") == MIDDLE
