"""Marks in answers: each stands behind a sentence, and names the passage that most of the sentence comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import SHORT, USER, Served

from hocket_bus.messages import Done, Origin, Token
from hocket_client import Turn
from hocket_gateway.answers.marks import MOST, Marks, unmarked
from hocket_gateway.answers.sentences import sentences
from waiting import WAIT_S

MARK = re.compile("\u00a0\\[([0-9]+)\\]")
ORIGINS = [
    Origin(side="device", document="a", ordinal=0, share=0.5),
    Origin(side="device", document="b", ordinal=3, share=0.3),
    Origin(side="cloud", document="c", ordinal=0, share=0.2),
    Origin(side="cloud", document="", ordinal=0, share=0.0),  # what nobody told of
]
OWN = 2  # the first ones are this side's
PIECES = st.sampled_from(
    ["The", " tide", " is", " 3", ".", ".\n", "! ", "?", " Dr", "\n\n", "- ", ' "low".', "", "5 km"]
)
ROW = st.sampled_from([(1.0, 0.0, 0.0, 0.0), (0.1, 0.8, 0.1, 0.0), (0.0, 0.1, 0.9, 0.0), (0.2, 0.2, 0.1, 0.5)])
ANSWERS = st.lists(st.tuples(PIECES, ROW), min_size=1, max_size=40)
Answer = Sequence[tuple[str, tuple[float, ...]]]


def done_of(answer: Answer) -> Done:
    return Done(
        request=bytes(16),
        seq=0,
        finish="eos",
        token_ids=[0] * len(answer),
        text="".join(text for text, _ in answer),
        ttft_s=0.0,
        ms_per_token=0.0,
        mode="aggregation",
        seed=0,
        sources=ORIGINS,
        token_sources=[list(row) for _, row in answer],
    )


def tokens_of(answer: Answer) -> list[Token]:
    """As they come in a stream: what the cloud has read is one sum."""
    return [
        Token(
            request=bytes(16),
            seq=step,
            step=step,
            id=0,
            text=text,
            source="both",
            t_s=0.0,
            places=[] if step else ORIGINS[:OWN],
            shares=[*row[:OWN], sum(row[OWN:])],
        )
        for step, (text, row) in enumerate(answer)
    ]


def whole(answer: Answer) -> tuple[str, Marks]:
    marks = Marks()
    return marks.whole(done_of(answer), [text for text, _ in answer]), marks


def streamed(answer: Answer) -> tuple[str, Marks]:
    marks = Marks()
    return "".join(map(marks.token, tokens_of(answer))) + marks.end(done_of(answer)), marks


@given(ANSWERS)
def test_a_mark_is_behind_the_words_of_its_passage(answer: Answer) -> None:
    """Without its marks the text is the answer. More than half of what is marked is its passage's, token by token."""
    text = "".join(piece for piece, _ in answer)
    for marked, marks in (whole(answer), streamed(answer)):
        assert unmarked(marked) == text
        for found in MARK.finditer(marked):
            at = len(unmarked(marked[: found.start()]))
            (named,) = [index for index, origin in enumerate(ORIGINS) if marks.number(origin) == int(found[1])]
            start = next(start for start, end in reversed(sentences(text)) if end <= at)
            end, rows = 0, list[float]()
            for piece, row in answer:
                if start <= end + len(piece) - len(piece.lstrip()) < at and piece.strip():
                    rows.append(row[named])
                end += len(piece)
            assert sum(rows) > MOST * len(rows) * 0.999
            assert ORIGINS[named].document


@given(ANSWERS)
def test_numbers_begin_at_one_in_the_order_of_the_text(answer: Answer) -> None:
    for marked, _ in (whole(answer), streamed(answer)):
        numbers = [int(number) for number in MARK.findall(marked)]
        first_seen = list(dict.fromkeys(numbers))
        assert first_seen == list(range(1, len(first_seen) + 1))


@given(ANSWERS)
def test_a_stream_has_the_marks_of_the_whole_but_for_the_clouds_within(answer: Answer) -> None:
    """By place and passage; the cloud names its passages at the end, so only its last sentence has a mark there."""

    def placed(made: tuple[str, Marks]) -> dict[int, str]:
        marked, marks = made
        documents = {marks.number(origin): origin.document for origin in ORIGINS}
        return {
            len(unmarked(marked[: found.start()]).rstrip()): documents[int(found[1])] for found in MARK.finditer(marked)
        }

    all_marks, live = placed(whole(answer)), placed(streamed(answer))
    assert live.items() <= all_marks.items()
    end = max(all_marks, default=0)
    assert all(document == "c" and at < end for at, document in all_marks.items() if at not in live)


@given(ANSWERS)
def test_places_in_the_marked_text_are_those_in_the_answer(answer: Answer) -> None:
    text = "".join(piece for piece, _ in answer)
    for marked, marks in (whole(answer), streamed(answer)):
        for start, end in sentences(text):
            assert unmarked(marked[marks.shifted(start) : marks.shifted(end)]) == text[start:end]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three", ["One.", "Two!", "Three"]),
        ("Ask Dr. Varga. She knows.", ["Ask Dr. Varga.", "She knows."]),
        ("See e.g. Oakhaven, 5 km. off", ["See e.g. Oakhaven, 5 km. off"]),
        ("# Tides\nLow at 3.5 m.\n\n- milk\n- eggs", ["# Tides", "Low at 3.5 m.", "- milk", "- eggs"]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("1. Boil. 2. Stir.", ["1. Boil.", "2. Stir."]),
        ("Really?! Yes", ["Really?!", "Yes"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_sees_it(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == found


def asked(front: Served, **body: object) -> httpx2.Response:
    body = {"model": "hocket", "messages": USER, **SHORT, **body}
    return httpx2.post(f"{front.url}/v1/chat/completions", json=body, timeout=WAIT_S)


def chunks(front: Served, **body: object) -> list[dict[str, object]]:
    lines = asked(front, stream=True, **body).text.split("\n\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def content_of(found: list[dict[str, object]]) -> str:
    return "".join(
        choice["delta"].get("content") or ""
        for chunk in found
        for choice in chunk["choices"]  # type: ignore[attr-defined]
    )


@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param("hocket", marks=pytest.mark.slow), "hocket-alone"])
def test_the_pairs_answers_are_marked_by_their_measured_shares(front: Served, model: str) -> None:
    """Whole and streamed, numbered as the list of sources is; the same answer with and without."""
    marked_once = False
    for seed in range(12):
        warm = {"model": model, "seed": seed, "temperature": 0.9}
        plain = asked(front, marks=False, **warm).json()
        text = plain["choices"][0]["message"]["content"]
        assert not MARK.search(text)
        whole = asked(front, **warm).json()
        marked, sources = whole["choices"][0]["message"]["content"], whole["hocket"]["sources"]
        assert unmarked(marked) == text
        rows = whole["hocket"]["shares"]
        assert len(sentences(text)) == 1  # of 8 made-up tokens
        best = max(range(len(sources)), key=lambda at: sum(row[at] for row in rows))
        is_most = sum(row[best] for row in rows) > MOST * len(rows)
        assert MARK.findall(marked) == (["1"] if is_most else [])
        if is_most:
            marked_once = True
            assert whole["search_results"][0]["document"] == sources[best]["document"]
        live = chunks(front, **warm)
        assert "".join(content_of(live).split()) == "".join(marked.split())  # blanks were sent before the end
        assert live[-1]["citations"] == whole["citations"]
        cited = whole["choices"][0]["message"]["annotations"]
        assert all(unmarked(_cut(marked, each)) in text for each in cited)
    assert marked_once


def _cut(text: str, annotation: dict[str, dict[str, int]]) -> str:
    span = annotation["url_citation"]
    return text[span["start_index"] : span["end_index"]]


def test_marks_in_a_conversation_are_no_words_of_it(front: Served) -> None:
    """Whoever sends a marked answer back is answered as if it had none; brackets of others' stay."""
    client = front.pair.client()
    for answer in ("mira\u00a0[1] [2].", "mira [1]."):
        said = [USER[0], {"role": "assistant", "content": answer}, {"role": "user", "content": "limba?"}]
        before = [Turn(query=USER[0]["content"], answer=unmarked(answer))]
        expected = client.ask("limba?", turns=before, alone=True, max_tokens=8, seed=7).result()
        got = asked(front, model="hocket-alone", messages=said, marks=False).json()
        assert got["choices"][0]["message"]["content"] == expected.text
