"""Laws of extracts; an embedder of few dimensions stands for a real one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from hocket_retrieval.searching.search import Passage
from hocket_retrieval.searching.sentences import WITHIN, _sentences, extract

NEAR = {
    "The near one is here.": 0.9,
    "A second is near, too.": 0.9 - WITHIN + 0.01,
    "This is far away, somewhere.": 0.9 - WITHIN - 0.01,
}


class Embedder:
    """Cosines with the query are those of NEAR."""

    def query(self, _: str) -> NDArray[np.float32]:
        return np.array([1, 0], np.float32)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[NEAR[text], 1 - NEAR[text]] for text in texts], np.float32)


def passages(*texts: str) -> list[Passage]:
    return [Passage(f"document {at}", "", 0, text, 0.0) for at, text in enumerate(texts)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_an_extract_has_what_is_about_as_near_as_the_nearest(count: int) -> None:
    """The nearest first, each with the document that told it first; short sentences say nothing."""
    backwards = [*reversed(NEAR)]
    found = extract(Embedder(), "query", passages(f"Hm. {' '.join(backwards)}", *NEAR), count)  # type: ignore[arg-type]
    assert [sentence.text for sentence in found] == list(NEAR)[:2][:count]
    assert {sentence.document for sentence in found} == {"document 0"}


def test_a_query_far_from_everything_has_its_nearest_sentences() -> None:
    """What is left out is judged by the nearest, not by a cosine of its own."""
    found = extract(Embedder(), "query", passages(list(NEAR)[2]), 3)  # type: ignore[arg-type]
    assert [sentence.text for sentence in found] == list(NEAR)[2:]
    assert extract(Embedder(), "query", passages("Hm."), 3) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("passage", "rows"),
    [
        ("- Ida Renn: 0171 555\n- Abel Tolle: 0171 143", ["Ida Renn: 0171 555", "Abel Tolle: 0171 143"]),
        ("Prices\nsmoked eel: 42\nsmoked cod: 33", ["smoked eel: 42", "smoked cod: 33"]),
        ("1. Renn, 12\n2. Tolle, 14\n3. Varga, closed", ["Renn, 12", "Tolle, 14", "Varga, closed"]),
        ("Mill | Built\n\nKelm | 1791\n\nRuhl | 1688", ["Mill: Kelm, Built: 1791", "Mill: Ruhl, Built: 1688"]),
        ("Kelm | 1791\n\nRuhl | 1688", ["Kelm | 1791", "Ruhl | 1688"]),
        ("It was built in\nspring by two\nbrothers of 1874.", ["It was built in spring by two brothers of 1874."]),
        ("Hm.\n\nIt is late now.", ["It is late now."]),
    ],
)
def test_a_row_is_a_sentence_of_its_own(passage: str, rows: list[str]) -> None:
    """Without its mark; that of a table has the names of its columns. Lines of a paragraph are no rows."""
    assert _sentences(passage) == rows
