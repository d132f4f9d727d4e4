"""What is looked for is embedded as such: some embedders make another vector of it than of what is found."""

from __future__ import annotations

import httpx2
import pytest
from serving import Served

from waiting import WAIT_S


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("query", "query"),
        ("search_query", "query"),
        ("document", "document"),
        ("search_document", "document"),
        ("passage", "document"),
        (None, "document"),
    ],
)
def test_the_words_of_several_servers_are_known(front: Served, kind: str | None, role: str) -> None:
    """Who says nothing means documents."""
    said = {} if kind is None else {"input_type": kind}
    body = {"model": "hocket-embeddings", "input": ["kala"], **said}
    assert httpx2.post(f"{front.url}/v1/embeddings", json=body, timeout=WAIT_S).status_code == 200
    assert front.retrieval is not None
    assert front.retrieval.embedded[-1].role == role
