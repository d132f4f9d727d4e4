"""The page's files over HTTP: what they are, what the browser may do with them, and that nothing else is given out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest
from serving import SHORT, USER, Served, gateway

from hocket_gateway.access import people
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "gateway" / "hocket_gateway" / "page"
FILES = sorted(PAGE.iterdir())
KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which no browser asks for
MAX_LINES = 200
DICTIONARY = "german.js"  # a table of words, which is as long as the page has them


def get(front: Served, path: str, **headers: str) -> httpx2.Response:
    return httpx2.get(front.url + path, headers=headers, timeout=WAIT_S)


def test_each_file_is_given_as_what_it_is(front: Served) -> None:
    """Byte for byte, under its own kind, which the browser must not guess again."""
    assert {path.suffix for path in FILES} == set(KINDS)
    for path in FILES:
        answer = get(front, f"/page/{path.name}")
        assert (answer.status_code, answer.content) == (200, path.read_bytes())
        assert answer.headers["content-type"].partition(";")[0] == KINDS[path.suffix]
        assert answer.headers["x-content-type-options"] == "nosniff"
    index = get(front, "/")
    assert (index.status_code, index.text) == (200, (PAGE / "index.html").read_text())
    assert httpx2.head(front.url).status_code == 200


def test_the_policy_lets_in_the_gateways_own_alone(front: Served) -> None:
    """Of every file; none of the ways around it is open."""
    for path in ("/", "/page/app.js"):
        rules = dict(
            rule.strip().partition(" ")[::2] for rule in get(front, path).headers["content-security-policy"].split(";")
        )
        assert rules["default-src"] == "'self'"
        assert {rules[name] for name in ("object-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
        assert not any("unsafe" in value or "*" in value or "http" in value for value in rules.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_a_place_elsewhere_or_is_long(path: Path) -> None:
    """No address with a host, and in the page's markup neither scripts nor styles that the policy would refuse."""
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < MAX_LINES or path.name == DICTIONARY
    assert re.findall(r"""(?:https?:|wss?:|["'(=])//[^\s"')]*""", text.replace(NAMESPACE, "")) == []
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", text) or path.suffix != ".html"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "/etc/passwd", "%2fetc%2fpasswd", "app.js%00", "."],
)
def test_no_other_file_is_given(front: Served, name: str) -> None:
    """However a path is written, and sent as it is: only the names of the page's files are known."""
    with closing(HTTPConnection("127.0.0.1", front.port, timeout=WAIT_S)) as there:
        there.request("GET", f"/page/{name}")
        answer = there.getresponse()
        assert answer.status == 404
        assert json.loads(answer.read())["error"]["code"] == "unknown_path"


def test_every_module_that_is_imported_is_there() -> None:
    """And every file of the page is used by another one."""
    named = {
        name
        for path in FILES
        for name in re.findall(r"""(?:from|import) "\./([\w.]+)";|"page/([\w.]+)\"""", path.read_text(encoding="utf-8"))
    }
    assert {one or other for one, other in named} == {path.name for path in FILES} - {"index.html"}


def test_a_wheel_has_them() -> None:
    """By the backend that builds it."""
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    included = {file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {f"hocket_gateway/page/{path.name}" for path in FILES} <= included


@pytest.fixture
def key(front: Served) -> Iterator[str]:
    """One that reads a folder; keys are asked for meanwhile."""
    yield people.invite(front.people, "anna", folders=("letters",))
    front.people.unlink()


def test_the_page_is_open_and_what_it_shows_is_not(front: Served, key: str) -> None:
    """Who has a key sees the documents of its folder, and no bytes of others."""
    assert get(front, "/").status_code == get(front, "/page/app.js").status_code == 200
    for path in ("/status", "/documents", "/page", "/documents/device-0"):
        assert get(front, path).status_code == 401
    mine = get(front, "/documents", authorization=f"Bearer {key}").json()
    letter = {"name": "letters/a", "title": "To Anna", "passages": 1, "removable": False}
    assert mine == {"documents": [letter], "next": None, "uploads": False, "watching": False}
    status = get(front, "/status", authorization=f"Bearer {key}").json()
    assert {status[name] for name in ("left", "leaves", "better_model", "cut")} == {None}


def test_the_status_is_the_daemons(front: Served) -> None:
    """Bytes by class grow with a question that goes to the cloud."""
    before = get(front, "/status").json()
    assert before["running"]
    assert before["cloud"].startswith("connected")
    assert before["round_trip_s"] > 0
    httpx2.post(front.url + "/v1/chat/completions", json={"model": "hocket", "messages": USER, **SHORT}, timeout=WAIT_S)
    after = get(front, "/status").json()
    assert after["left"]["query"] > before["left"].get("query", 0)
    assert set(after["acceptance"]) == {"device", "cloud"}
    assert all(0 <= part <= 1 for part in after["acceptance"].values())


def test_documents_come_in_pages(front: Served) -> None:
    assert [each["name"] for each in get(front, "/documents").json()["documents"]] == ["device-0", "letters/a"]
    for wrong in ("-1", "x", "9" * 30, "1.5"):
        refused = get(front, f"/documents?offset={wrong}")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "offset")


def test_without_a_daemon_the_page_is_there_and_the_status_says_so(tmp_path: Path) -> None:
    with gateway(ServeSettings(port=0, device=f"ipc://{tmp_path}/none")) as port:
        assert httpx2.get(f"http://127.0.0.1:{port}/", timeout=WAIT_S).status_code == 200
        assert httpx2.get(f"http://127.0.0.1:{port}/status", timeout=WAIT_S).json() == {"running": False}
