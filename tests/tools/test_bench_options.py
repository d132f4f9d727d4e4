"""Laws of a benchmark's options: what is set wrong is one clear line, before anything runs."""

from __future__ import annotations

import pytest

from hocket_tools.main import run


@pytest.mark.parametrize(
    ("arguments", "wrong", "known"),
    [
        (["graph", "--part", "none"], "--part", "matching"),
        (["answers", "--half", "none"], "--half", "tuning"),
        (["typing", "--conditions", "far,none-such"], "--conditions", "silent"),
        (["graph", "--questions", "0"], "--questions", "1"),
    ],
)
def test_a_word_that_is_none_of_several_is_refused_with_those_that_are(
    arguments: list[str], wrong: str, known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert wrong in line
    assert known in line
    assert "--help" in line
