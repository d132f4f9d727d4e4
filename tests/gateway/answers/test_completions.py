"""`/v1/completions`, by the `openai` package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from serving import SHORT, Served

from waiting import WAIT_S

openai = pytest.importorskip("openai", reason="openai is not installed: hocket[dev]")


@pytest.fixture(scope="module")
def client(front: Served) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{front.url}/v1", api_key="none", timeout=WAIT_S, max_retries=0) as there:
        yield there


def test_a_text_goes_on_as_the_pair_goes_on_with_it(front: Served, client: Any) -> None:
    """Whole and streamed."""
    plain = front.pair.client().ask("kala mira", task="complete", max_tokens=8, seed=7).result()
    whole = client.completions.create(model="hocket", prompt="kala mira", **SHORT)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (plain.text, "length")
    assert whole.usage.completion_tokens == 8
    usage = {"include_usage": True}
    *chunks, last = client.completions.create(
        model="hocket", prompt=["kala mira"], stream=True, stream_options=usage, **SHORT
    )
    assert "".join(chunk.choices[0].text for chunk in chunks) == plain.text
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 8 + ["length"]
    assert (last.choices, last.usage.completion_tokens) == ([], 8)


def test_log_probabilities_stand_in_columns(front: Served, client: Any) -> None:
    """The same whole and streamed, and the plain client's."""
    plain = list(front.pair.client().ask("kala mira", task="complete", max_tokens=8, seed=7, logprobs=2))
    whole = client.completions.create(model="hocket", prompt="kala mira", logprobs=2, **SHORT).choices[0].logprobs
    assert whole.token_logprobs == [token.logprobs[0].logprob for token in plain]
    assert [sorted(each.values()) for each in whole.top_logprobs] == [
        sorted({top.piece.decode(errors="replace"): top.logprob for top in token.logprobs[1:]}.values())
        for token in plain
    ]
    starts = [sum(map(len, whole.tokens[:at])) for at in range(8)]
    assert whole.text_offset == starts
    chunks = client.completions.create(model="hocket", prompt="kala mira", logprobs=2, stream=True, **SHORT)
    streamed = [chunk.choices[0].logprobs for chunk in chunks if chunk.choices[0].logprobs]
    assert [each for part in streamed for each in part.token_logprobs] == whole.token_logprobs
    assert [each for part in streamed for each in part.text_offset] == starts


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"prompt": ["x", "y"]}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"prompt": [[1, 2]]}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": "x", "echo": True}, "echo"),
        ({"prompt": "x", "suffix": "y"}, "suffix"),
        ({"prompt": "x", "best_of": 2}, "best_of"),
        ({"prompt": "x", "n": 2}, "n"),
        ({"prompt": None}, "prompt"),
    ],
)
def test_what_cannot_be_given_is_refused_by_name(front: Served, body: dict[str, object], param: str) -> None:
    refused = httpx2.post(f"{front.url}/v1/completions", json={"model": "hocket", **body}, timeout=WAIT_S)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
