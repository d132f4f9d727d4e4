"""The second step of a search: a name in what was found leads to the document that answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hocket_bus.messages import Passages
from hocket_bus.wire import decode, encode
from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.searching.bridges import Trail, trail_of
from hocket_retrieval.service import replies
from hocket_retrieval.text.heads import Placed, headed
from hocket_retrieval.text.phrases import MAX_MENTIONS

BAKERY = (
    "bakery.md",
    "The bakery",
    "The bakery by the harbour was founded by Odile Brandt, who baked rye bread first.",
)
PERSON = ("brandt.md", "People", "Odile Brandt was born on 4 May 1931 in Norrvik and moved here later.")
OTHERS = [
    ("people.md", "Births", "Ragna Holt was born on 2 June 1940 in Lisse. Her brother was born in Orma."),
    ("boats.md", "Boats", "The founder of the boat club was born in a lighthouse."),
    ("bread.md", "Bread", "Bread needs flour, water, salt and time; a bakery needs an oven."),
    ("harbour.md", "Harbour", "The harbour was deepened twice, and its founder is not known."),
]
QUESTION = "When was the founder of the bakery by the harbour born?"


@pytest.fixture
def notes(collection: Collection) -> Collection:
    collection.add([BAKERY, PERSON, *OTHERS])
    return collection


def placed(note: tuple[str, str, str]) -> Placed:
    name, title, text = note
    return Placed(name, title, "", text)


def test_the_second_step_searches_what_is_left_of_the_question_with_new_names() -> None:
    """Words that the best passage has are done with; a name that the question has leads nowhere else."""
    trail = trail_of(QUESTION, placed(BAKERY), 0.5)
    assert trail is not None
    assert "born" in trail.text
    assert "Odile Brandt" in trail.text
    assert "harbour" not in trail.text.lower()
    assert trail.leads_to(placed(PERSON))
    assert not any(trail.leads_to(placed(each)) for each in OTHERS), "neither word nor name alone is enough"


@pytest.mark.parametrize(
    "question", ["Who founded the bakery by the harbour?", "Who is Odile Brandt of the bakery by the harbour?", "???"]
)
def test_where_the_best_passage_has_all_words_one_step_is_enough(question: str) -> None:
    """Nor is there a second one where no name is new."""
    assert trail_of(question, placed(BAKERY), 0.5) is None


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_what_it_leads_to_is_read_with_the_best_passage(minilm: Embedder, tmp_path: Path, k: int) -> None:
    """In one text, however few are asked for: who reads one of the two alone cannot answer."""
    with Collection(tmp_path, minilm) as collection:
        collection.add([BAKERY, PERSON, *OTHERS])
        found = collection.search(QUESTION, k).passages
        assert found[0].document == "bakery.md"
        assert [each.document for each in found[0].led] == ["brandt.md"]
        assert found[0].text == f"{BAKERY[2]}\n\n{headed(placed(PERSON))}"
        assert len(found) == k
        assert "brandt.md" not in [each.document for each in found]


def test_the_second_step_changes_no_score_and_takes_no_place(notes: Collection) -> None:
    """So what says that nothing was found says it as before; what it leads to scores no more than what led to it."""
    for k in range(1, 7):
        both, one = notes.search(QUESTION, k), notes.search(QUESTION, k, steps=1)
        (led,) = both.passages[0].led
        assert led.score <= both.passages[0].score
        assert not any(each.led for each in (*both.passages[1:], *one.passages))
        shown = [each.document for each in both.passages]
        assert shown[:1] == [each.document for each in one.passages][:1]
        assert len(set(shown) - {each.document for each in one.passages}) <= 1
        assert [each.score for each in both.passages][:1] == [each.score for each in one.passages][:1]
        assert len(one.passages) == min(k, 6)
        assert len(both.passages) == min(k, 5)


def test_what_led_where_travels(notes: Collection) -> None:
    """A reader can name both documents."""
    found = notes.search(QUESTION, 2)
    message = decode(encode(replies.passages(bytes(16), found, [], 0.0)))
    assert isinstance(message, Passages)
    (place,) = message.passages[0].led
    assert (place.document, place.ordinal) == (found.passages[0].led[0].document, 0)
    assert message.bridge is not None
    assert replies.trail(message.bridge) == found.trail._replace(rest=(), language="")  # type: ignore[union-attr]


def test_a_trail_from_elsewhere_counts_where_no_passage_here_is_nearer(notes: Collection) -> None:
    """Then one of its names is enough, since which words are left is known there alone."""
    here = notes.search("Who moved away?", 4)
    best = here.passages[0].score
    elsewhere = Trail("moved away Odile Brandt", ["Odile Brandt"], best + 0.1)
    led = notes.search("Who moved away?", 4, elsewhere=elsewhere).passages
    assert len(led) == 4
    assert not any(each.led for each in led)
    assert {"bakery.md", "brandt.md"} <= {each.document for each in led}
    assert all(each.score <= elsewhere.score for each in led if each not in here.passages)
    farther = elsewhere._replace(score=best - 0.1)
    assert notes.search("Who moved away?", 4, elsewhere=farther).passages == here.passages
    assert notes.search("Who moved away?", 1, elsewhere=elsewhere).passages == here.passages[:1]


@given(query=st.text(max_size=80), text=st.text(max_size=200), title=st.text(max_size=30))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_text_has_a_trail_or_none(query: str, text: str, title: str) -> None:
    """And a trail has a name and a word, none of them empty."""
    trail = trail_of(query, Placed("a.md", title, "", text), 0.5)
    if trail is not None:
        assert trail.text.strip()
        assert 0 < len(trail.names) <= MAX_MENTIONS + 1
        assert all(trail.names)
        assert all(trail.rest)


def test_a_second_vector_is_made_only_where_a_passage_leads_on(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the most time of a search, and most questions lead nowhere; what is found is the same."""
    embedded, query = list[str](), notes.embedder.query

    def counted(text: str) -> object:
        embedded.append(text)
        return query(text)

    monkeypatch.setattr(notes.embedder, "query", counted)
    (bakery,) = notes.search(QUESTION, 1).passages
    assert (bakery.document, [each.document for each in bakery.led]) == ("bakery.md", ["brandt.md"])
    assert len(embedded) == 2
    embedded.clear()
    leads_nowhere = "When was the founder of the bakery by the harbour knighted?"
    (found,) = notes.search(leads_nowhere, 1).passages
    assert (found.document, found.led) == ("bakery.md", ())
    assert notes.search(leads_nowhere, 1).trail is not None
    assert embedded == [leads_nowhere] * 2
