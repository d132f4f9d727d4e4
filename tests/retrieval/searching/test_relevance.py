"""Laws of the probability that a passage answers: more of what speaks for it never lowers it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.collection import Collection
from hocket_retrieval.searching.relevance import BY_EMBEDDER, SHIPPED, Calibrated, Telling, placed, scorer_of
from toys import ToyEmbedder

WORDS = [f"{letter}{letter}" for letter in "abcdefgh"]
CHOSEN = st.lists(st.sampled_from(WORDS), unique=True)
COSINES = st.floats(-1, 1)
PROBABILITIES = st.floats(0.001, 0.999)


@st.composite
def tellings(draw: st.DrawFn) -> Telling:
    """Words of a question, each of which weighs something or nothing."""
    return Telling({word: draw(st.floats(0, 10)) for word in draw(CHOSEN)})


@given(tellings(), CHOSEN, CHOSEN)
def test_a_passage_has_at_most_all_that_the_words_tell(telling: Telling, some: list[str], more: list[str]) -> None:
    """And no less with more words, in whatever order these are summed."""
    least, most = telling.share(frozenset(some)), telling.share(frozenset([*some, *more]))
    assert 0.0 <= least <= most <= 1.0
    assert telling.share(frozenset(WORDS)) == (pytest.approx(1.0) if any(telling.weights.values()) else 0.0)


@given(tellings(), COSINES, COSINES, CHOSEN, CHOSEN, CHOSEN)
def test_more_of_each_input_never_lowers_the_probability(
    telling: Telling, one: float, other: float, text: list[str], names: list[str], more: list[str]
) -> None:
    """Nearer in meaning, more words, more of them in the names above; a name counts at least as much as a word."""
    low, high = sorted((one, other))
    here = telling.probability(low, " ".join(text), " ".join(names))
    assert 0.0 < here < 1.0
    assert telling.probability(high, " ".join(text), " ".join(names)) >= here
    in_text = telling.probability(low, " ".join([*text, *more]), " ".join(names))
    assert telling.probability(low, " ".join(text), " ".join([*names, *more])) >= in_text >= here


@given(st.lists(PROBABILITIES, min_size=1, max_size=3), st.floats(0, 1), st.floats(0, 1))
def test_forms_are_averaged_and_a_rank_raises(forms: list[float], one: float, other: float) -> None:
    """In no order; without a rank the result is the mean."""
    least, most = sorted((one, other))
    assert placed(forms, least) == pytest.approx(placed(forms[::-1], least))
    assert placed(forms, 0.0) == pytest.approx(sum(forms) / len(forms))
    assert placed(forms, 0.0) <= placed(forms, least) <= placed(forms, most) < 1.0


def test_the_rare_words_of_a_question_tell_more_than_its_meaning(tmp_path: Path) -> None:
    """A name that stands in one note of many counts, one that stands nowhere is missed, however common the rest is."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(30):
        (notes / f"{number}.txt").write_text(f"The boiler of house {number} was serviced in the spring.")
    (notes / "key.txt").write_text("The spare key hangs at Ingrid Vale's.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([notes])

        def best(query: str) -> tuple[str, float]:
            found = collection.search(query, 3).passages[0]
            return Path(found.document).name, found.score

        for query in ("Ingrid Vale", "What hangs at Ingrid Vale's?", "spare key"):
            name, score = best(query)
            assert name == "key.txt"
            assert score > max(best("Who is Edda Kron?")[1], best("the boiler of Edda Kron")[1])


def test_a_scorer_is_named_by_its_embedder_and_its_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two versions that mean something else by a score do not compare them."""
    assert scorer_of("cosine:1") == scorer_of("cosine:1") != scorer_of("cosine:2")
    before = scorer_of("cosine:1")
    monkeypatch.setattr("hocket_retrieval.searching.relevance.SHIPPED", SHIPPED._replace(words=9.0))
    assert scorer_of("cosine:1") != before


SENTENCES = {"english": "the notice period of the flat is long", "german": "die Frist der Wohnung ist lang", "": "8, 9"}


@given(COSINES, st.sampled_from(sorted(SENTENCES)), st.sampled_from(sorted(SENTENCES)))
def test_meaning_alone_may_do_across_languages_and_not_within_one(cosine: float, asked: str, written: str) -> None:
    """It never lowers a probability, and counts for nothing in a passage of the question's own language."""
    (calibrated,) = BY_EMBEDDER.values()
    weights = {"flat": 2.0, "wohnung": 3.0}
    plain = Telling(weights, Calibrated(calibrated.within))
    crossing = Telling(weights, calibrated, asked or "english")
    one, other = (each.probability(cosine, SENTENCES[written], "") for each in (plain, crossing))
    assert other >= one
    if (written or "english") == (asked or "english"):
        assert other == one
    elif cosine > 0.5:
        assert other > max(one, 0.5)


def test_an_embedder_of_one_language_scores_as_ever_and_one_of_many_by_another_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The two sides of a pair must mean the same by a score."""
    before = scorer_of("cosine:1")
    monkeypatch.setattr("hocket_retrieval.searching.relevance.BY_EMBEDDER", {"cosine:1": Calibrated(SHIPPED)})
    assert scorer_of("cosine:1") != before
    monkeypatch.setattr("hocket_retrieval.searching.relevance.BY_EMBEDDER", {"cosine:2": Calibrated(SHIPPED)})
    assert scorer_of("cosine:1") == before
