"""What is kept of earlier suggestions: told again behind the same reference alone, proposed behind any."""

from __future__ import annotations

import pytest

from exact import exact
from hocket_daemon.composition.completion import LATE, Path, PathCache
from hocket_daemon.composition.reference import Reference
from hocket_daemon.composition.window import TokenTexts, Window
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel


@pytest.fixture(scope="module")
def token_texts() -> TokenTexts:
    return TokenTexts(TransformersModel(exact(name="bundled", slots=1, context=64), "device"))


def test_newer_memory_ends_what_is_told_again_and_not_what_is_proposed(token_texts: TokenTexts) -> None:
    kept, window = PathCache(token_texts), Window("The ferry", "", [5, 6])
    old, new = Reference([1]), Reference([1, 2])
    before, behind = Path(window, (7, 8)), Path(window, (7, 9))
    kept.put(old, before)
    assert kept.find(old, window) is before
    assert kept.find(new, window) is None
    assert kept.late() == [before]
    kept.put(new, behind)
    assert kept.find(new, window) is behind
    assert kept.late() == [before, behind]  # the likeliest source last


def test_what_is_proposed_from_has_an_end(token_texts: TokenTexts) -> None:
    kept = PathCache(token_texts)
    paths = [Path(Window(f"text {number}", "", [5]), (number,)) for number in range(2 * LATE + 3)]
    for number, path in enumerate(paths):
        kept.put(Reference([number // 50]), path)
    assert kept.late() == paths[-LATE:]
