"""Laws of what is told of an answer before it: that nothing which was read seems to be about the question."""

from __future__ import annotations

import pytest

from hocket_bus.messages import Begin, Passage, Passages, Prompt, Ready, Sampling
from hocket_daemon.aggregation.leader import Evidence
from hocket_daemon.serving.search.evidence import doubt_of_all, is_about

MINIMUM = 0.35
PROBABILITY = "probability:0123"


def begin(task: str = "answer", documents: int = 2) -> Begin:
    return Begin(
        session=bytes(16), epoch=0, prompt=Prompt(query="Why?"), task=task, sampling=Sampling(), method="coupled",  # type: ignore[arg-type]
        documents=documents, eos=[], weights="dynamic", reweigh_every=4, relevance_temperature=0.1, wire_mass=0.98,
    )  # fmt: skip


def own(*scores: float, scorer: str = PROBABILITY) -> Passages:
    passages = [Passage(document="a", title="", ordinal=at, text="b", score=score) for at, score in enumerate(scores)]
    return Passages(
        request=bytes(16), passages=passages, scorer=scorer, scorers=[scorer], documents_total=1, seconds=0.0
    )


def ready(best: float, documents: int = 2, scorer: str = PROBABILITY) -> Ready:
    return Ready(
        session=bytes(16), epoch=0, documents=documents, best=best, scorer=scorer, scorers=[scorer], retrieval_s=0.0,
        prefill_s=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("device", "cloud", "told"),
    [
        ((0.3, 0.2), 0.34, True),
        ((0.36, 0.1), 0.0, False),
        ((0.1,), 0.36, False),
        ((), 0.2, True),
        ((0.35,), 0, False),
    ],
)
def test_the_nearest_passage_of_either_side_decides(device: tuple[float, ...], cloud: float, told: bool) -> None:
    """Told once, when both have searched, however often it is looked."""
    evidence = Evidence(begin(), MINIMUM)
    assert not evidence.look(own(*device), None, alone=False)
    found = evidence.look(own(*device), ready(cloud), alone=False)
    assert bool(found) is told
    assert not told or "not in your documents" in found
    assert not evidence.look(own(*device), ready(cloud), alone=False)


def test_alone_the_own_passages_decide_and_without_any_nothing_is_told() -> None:
    """That there are no documents is told otherwise."""
    for scores, told in (((0.2,), 1), ((0.5,), 0), ((), 0)):
        assert bool(Evidence(begin(), MINIMUM).look(own(*scores), ready(0.9), alone=True)) == told


def test_a_detail_that_no_passage_here_tells_is_missed_unless_another_side_may_know_it() -> None:
    """Also for a group: what the others have found counts by its best score, as nobody sees its text."""
    asked = Prompt(query="What is the fax number of the works?")
    for others, missed in (([], True), ([0.2, 0.3], True), ([0.2, 0.36], False)):
        scored = [(PROBABILITY, score) for score in others]
        assert ("a fax number" in doubt_of_all(own(0.5), scored, MINIMUM, asked)) == missed
        assert doubt_of_all(own(0.5), scored, 0.0, asked) == ""
    assert "a probability of 0.30" in doubt_of_all(own(0.1), [(PROBABILITY, 0.3)], MINIMUM, asked)


def test_nothing_is_told_where_the_bound_means_nothing() -> None:
    """Prose that goes on, a question without documents, another scorer and a bound of 0 are never doubted."""
    for opening, minimum, device, cloud in (
        (begin(task="complete"), MINIMUM, own(0.0), ready(0.0)),
        (begin(documents=0), MINIMUM, own(0.0), ready(0.0)),
        (begin(), MINIMUM, own(0.0, scorer="rerank:1"), ready(0.0)),
        (begin(), MINIMUM, own(0.0), ready(0.0, scorer="rerank:1")),
        (begin(), 0.0, own(0.0), ready(0.0)),
        (begin(), -1.0, own(0.0), ready(0.0)),
    ):
        assert not Evidence(opening, minimum).look(device, cloud, alone=False)


def test_a_passage_is_about_the_question_where_its_score_reaches_the_bound() -> None:
    """Scores of another scale say nothing."""
    assert not is_about(own(0.34), MINIMUM)
    assert is_about(own(0.35), MINIMUM)
    assert not is_about(own(0.9, scorer="rerank:1"), MINIMUM)
