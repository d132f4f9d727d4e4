"""The link's switch and the record of an answer over HTTP: for whoever needs no key, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from serving import SHORT, USER, Served

from hocket_gateway.access import people
from waiting import WAIT_S, until


@pytest.fixture
def http(front: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=front.url, timeout=WAIT_S) as client:
        yield client


def ask(http: httpx2.Client, model: str = "hocket") -> dict[str, object]:
    """What the answer's `hocket` object has."""
    body = {"model": model, "messages": USER, **SHORT}
    return dict(http.post("/v1/chat/completions", json=body).json()["hocket"])


def test_the_link_is_cut_and_joined(http: httpx2.Client) -> None:
    """While it is cut, no byte of any class is counted."""
    assert http.get("/status").json()["cut"] is False
    ask(http)
    assert http.post("/link", json={"cut": True}).json() == {"cut": True}
    before = http.get("/status").json()
    assert before["cut"] is True
    assert ask(http)["finish"] == "length"
    assert http.get("/status").json()["left"] == before["left"]
    assert http.post("/link", json={"cut": False}).json() == {"cut": False}
    until(lambda: http.get("/status").json()["cloud"].startswith("connected"))
    ask(http)
    assert http.get("/status").json()["left"]["query"] > before["left"]["query"]


def test_an_answers_record_has_its_times_and_what_left(http: httpx2.Client) -> None:
    record = http.get(f"/explanations/{ask(http)['id']}").json()["record"]
    assert record["question"] == USER[0]["content"]
    assert record["times_s"]["all"] >= record["times_s"]["first token"] > 0
    assert record["left"][0]["class"] == "query"
    assert "left" not in http.get(f"/explanations/{ask(http, 'hocket-alone')['id']}").json()["record"]


def test_what_is_no_answers_number_is_refused(http: httpx2.Client) -> None:
    ask(http)
    for number, status in (("0" * 32, 404), ("x", 400), ("0" * 33, 400)):
        assert http.get(f"/explanations/{number}").status_code == status
    assert http.post("/link", json={"cut": "perhaps"}).status_code == 400


@pytest.mark.parametrize("rights", [{}, {"alone_only": True}, {"folders": ("letters",)}])
def test_no_key_may(front: Served, http: httpx2.Client, rights: dict[str, object]) -> None:
    """Nor may a web page of others, which needs none."""
    number = ask(http)["id"]
    strange = {"origin": "https://evil.example"}
    assert http.post("/link", json={"cut": True}, headers=strange).status_code == 403
    key = {"authorization": f"Bearer {people.invite(front.people, 'anna', **rights)}"}  # type: ignore[arg-type]
    try:
        assert http.post("/link", json={"cut": True}, headers=key).status_code == 403
        assert http.get(f"/explanations/{number}", headers=key).status_code == 403
        assert http.get("/account", headers=key).status_code == 403
        assert http.get("/status", headers=key).json()["cut"] is None
        assert http.post("/link", json={"cut": True}).status_code == 401
    finally:
        front.people.unlink()
    assert http.get("/status").json()["cut"] is False
