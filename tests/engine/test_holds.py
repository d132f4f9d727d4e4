"""Laws of first tokens that are held back."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_daemon.engine.holds import Holds


def test_each_line_is_for_one_prompt_and_may_be_a_line_over_its_tokens(tmp_path: Path) -> None:
    """Seconds alone, or seconds a token and seconds; nothing is held behind the last line, or without a file."""
    file = tmp_path / "holds"
    file.write_text("0.25\n0.01 0.5\n", encoding="utf-8")
    holds = Holds(str(file))
    assert [holds.next().seconds(tokens) for tokens in (40, 40, 40)] == [0.25, 0.9, 0.0]
    assert Holds("").next().seconds(40) == 0.0


@pytest.mark.parametrize("text", ["soon\n", "1 2 3\n", "\n"])
def test_other_lines_are_refused_at_the_start(tmp_path: Path, text: str) -> None:
    """With a remedy."""
    file = tmp_path / "holds"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfiguration, match="give seconds"):
        Holds(str(file))
    with pytest.raises(BadConfiguration, match="cannot be read"):
        Holds(str(tmp_path / "none"))
