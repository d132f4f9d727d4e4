"""A question of a conversation is searched in its forms, and one order is made of what they find."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.collection import Collection
from hocket_retrieval.forms import AS_NEAR, NEAR, Form, scoring, together

COSINES = st.floats(-1, 1)


@st.composite
def forms(draw: st.DrawFn) -> tuple[list[Form], dict[int, float]]:
    """Three forms of the same candidates, and their shares of the question's words."""
    ids = draw(st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True))
    made = [Form(draw(st.permutations(ids)), {id: draw(COSINES) for id in ids}) for _ in range(3)]
    return made, {id: draw(st.floats(0, 1)) for id in ids}


@given(forms(), st.integers(1, 8))
def test_the_question_alone_scores_where_it_finds_what_is_near(
    made: tuple[list[Form], dict[int, float]], k: int
) -> None:
    """And about as near as with words of those before it, among the `k` that are wanted; one form scores by itself."""
    alone, joined, _ = made[0]
    best, other = (max(form.cosines[id] for id in form.ranking[:k]) for form in (alone, joined))
    assert scoring(made[0], k) == (0 if best >= NEAR and best >= AS_NEAR * other else 1)
    assert scoring([alone], k) == 0


@given(forms(), st.integers(0, 1))
def test_the_order_has_every_candidate_once(made: tuple[list[Form], dict[int, float]], chosen: int) -> None:
    """In whichever form it was found."""
    order = together(made[0], chosen, made[1])
    assert sorted(order) == sorted(made[1])


def like(best: int, by: float) -> Mapping[int, float]:
    """Cosines of two candidates, of which one is nearer `by` so much."""
    return {id: 0.3 + by * (id == best) for id in (1, 2)}


@pytest.mark.parametrize("part", ["words", "alone", "joined", "all", "chosen", "last"])
def test_each_of_the_six_parts_tells_between_two_that_are_else_alike(part: str) -> None:
    """The one that it is for comes first, whichever of the two."""
    for best in (1, 2):
        order = [best, 3 - best]
        rankings = {"alone": [], "joined": order if part == "chosen" else [], "all": order if part == "last" else []}
        made = [Form(ranking, like(best, 0.1 * (name == part))) for name, ranking in rankings.items()]
        shares = {1: 0.5, 2: 0.5} | ({best: 0.6} if part == "words" else {})
        assert together(made, 1, shares)[0] == best


NOTES = [
    (
        "boiler.md",
        "Boiler at home",
        "The boiler at home shows F3 when the pressure is below 1.0 bar. Service in October.",
    ),
    ("cabin.md", "Stove at the cabin", "The stove at the cabin burns pellets; its pressure must be 1.2 bar."),
    ("fees.md", "Club fees", "Club fees: adults 240, juniors 110, families 400 a year."),
    ("training.md", "Training", "Juniors train on Tuesdays at 16:30, adults on Thursdays at 19:00."),
]


@pytest.mark.slow
def test_a_follow_up_finds_what_the_conversation_is_about(minilm: object, tmp_path: object) -> None:
    """And, where it names another thing, that."""
    with Collection(tmp_path, minilm) as collection:  # type: ignore[arg-type]
        collection.add(NOTES)

        def first(query: str, *others: str) -> str:
            return collection.search(query, 2, others=others).passages[0].document

        before = "What are the club fees for adults?"
        assert first("And juniors?", "And juniors? And juniors? club fees", f"{before} And juniors?") == "fees.md"
        before = "What does F3 mean on our boiler?"
        asked = "And at what time do juniors train?"
        assert first(asked, f"{asked} {asked} f3 mean", f"{before} {asked}") == "training.md"
