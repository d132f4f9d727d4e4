"""Laws of what stands before a typed text."""

from __future__ import annotations

import pytest

from hocket_daemon.composition.prompts import reference_text

TAKEAWAYS = ["The ferry costs 14 crowns.", "It runs on Thursdays."]


@pytest.mark.parametrize("instructed", [True, False])
def test_a_reference_has_takeaways_in_order_and_then_the_text_behind(instructed: bool) -> None:
    text = reference_text(TAKEAWAYS, "  Yours, Abel\n", instructed=instructed)
    assert "The ferry costs 14 crowns. It runs on Thursdays. Yours, Abel\n" in text
    assert reference_text([], " \n", instructed=instructed) == ""


def test_only_an_instructed_model_is_told_what_to_do() -> None:
    assert "Complete the following paragraph" in reference_text(TAKEAWAYS, "", instructed=True)
    assert reference_text(TAKEAWAYS, "", instructed=False) == " ".join(TAKEAWAYS) + "\n\n"
