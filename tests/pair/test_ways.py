"""How far a question and a draft go: files that control passes through, counted by running (tests/ways.py)."""

from __future__ import annotations

import pytest

from ways import ways

TO_THE_DRAFT, TO_THE_READER = 24, 18


@pytest.mark.slow
def test_a_question_and_a_draft_go_no_farther() -> None:
    """`python tests/measure_house.py` names the files."""
    question, draft = ways()
    assert len(question.through) <= TO_THE_DRAFT, sorted(question.through)
    assert len(draft.through) <= TO_THE_READER, sorted(draft.through)
    assert "hocket_daemon/aggregation/leader.py" in question.through & draft.through
