"""A question of a conversation is searched in its forms, and one of them is what it is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.collection import Collection
from hocket_retrieval.searching.forms import AS_NEAR, NEAR, Form, chosen

COSINES = st.floats(-1, 1)


@st.composite
def forms(draw: st.DrawFn) -> list[Form]:
    """Three forms of the same candidates."""
    ids = draw(st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True))
    return [Form(draw(st.permutations(ids)), {id: draw(COSINES) for id in ids}) for _ in range(3)]


@given(forms(), st.integers(1, 8))
def test_a_question_is_meant_as_it_stands_where_it_finds_what_is_near(made: list[Form], k: int) -> None:
    """And about as near as with words of those before it, among the `k` that are wanted; one form is always meant."""
    alone, joined, _ = made
    best, other = (max(form.cosines[id] for id in form.ranking[:k]) for form in (alone, joined))
    assert chosen(made, k) == (0 if best >= NEAR and best >= AS_NEAR * other else 1)
    assert chosen([alone], k) == 0


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
