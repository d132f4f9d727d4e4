"""Keys for people: who has none asks nothing, each may ask what is theirs, and what is taken away is so at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from serving import SHORT, USER, Served, served

from hocket_bus.errors import BadConfiguration
from hocket_gateway.access import guesses, people
from hocket_gateway.access.people import People
from hocket_gateway.answers import questions
from hocket_gateway.server import listener
from hocket_gateway.settings import ServeSettings
from hocket_lab.link.tap import messages
from hocket_tools.main import run
from waiting import WAIT_S, until

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def front(tiny_models: dict[str, Path]) -> Iterator[Served]:
    """Whose every decode step takes a while, with a tap in the wire to the cloud."""
    with served(tiny_models, tapped=True, hold_s=0.02) as there:
        yield there


@pytest.fixture
def names(front: Served) -> Iterator[Iterator[str]]:
    """Names that nobody has yet; keys are asked for no more afterwards."""
    yield (f"person-{number}" for number in range(100))
    front.people.unlink(missing_ok=True)


def post(front: Served, key: str, **body: object) -> httpx2.Response:
    asked = {"model": "hocket", "messages": USER, **SHORT, **body}
    return httpx2.post(front.url + CHAT, json=asked, headers=bearer(key), timeout=WAIT_S)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def test_nobody_asks_without_a_key_where_there_are_keys(front: Served, names: Iterator[str]) -> None:
    """A wrong one, half of one and one of another scheme are none; the shapes are the APIs' own."""
    key = people.invite(front.people, next(names))
    assert post(front, key).status_code == 200
    for wrong in ("", "hk-", key[:-1], f"{key}x", "x" * 5_000):
        refused = post(front, wrong)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert refused.json()["error"]["code"] == "invalid_api_key"
    assert (
        httpx2.get(f"{front.url}/v1/models", headers={"authorization": f"Basic {key}"}, timeout=WAIT_S).status_code
        == 401
    )
    tags = httpx2.get(f"{front.url}/api/tags", timeout=WAIT_S)
    assert (tags.status_code, list(tags.json())) == (401, ["error"])
    assert httpx2.get(f"{front.url}/documents/device-0", timeout=WAIT_S).status_code == 401
    assert httpx2.get(f"{front.url}/health", timeout=WAIT_S).status_code == 200


def test_wrong_keys_of_an_address_are_few_and_hold_up_no_right_one(tiny_models: dict[str, Path]) -> None:
    """Who guesses is refused from some guess on; a person at the same address is not, nor is another address."""
    with served(tiny_models) as front:
        key, url = people.invite(front.people, "anna"), f"{front.url}/v1/models"
        with httpx2.Client(timeout=WAIT_S) as client:
            got = [client.get(url, headers=bearer(f"hk-{number}")) for number in range(2 * guesses.A_MINUTE)]
            assert client.get(url, headers=bearer(key)).status_code == 200
            assert client.get(url).status_code == 401
        statuses = [each.status_code for each in got]
        assert statuses[: guesses.A_MINUTE] == [401] * guesses.A_MINUTE
        assert statuses.count(429) >= guesses.A_MINUTE / 2
        last = next(each for each in reversed(got) if each.status_code == 429)
        assert (last.json()["error"]["code"], int(last.headers["retry-after"]) >= 1) == ("too_many_guesses", True)
        with httpx2.Client(transport=httpx2.HTTPTransport(local_address="127.0.0.2"), timeout=WAIT_S) as other:
            assert other.get(url, headers=bearer("hk-0")).status_code == 401


def test_addresses_that_guessed_are_forgotten_before_they_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MAX_ADDRESSES", 4)
    counted = guesses.Guesses()
    for number in range(100):
        counted.count(f"2001:db8::{number:x}")
    assert len(counted._buckets) == 4


def test_the_file_tells_no_key(front: Served, names: Iterator[str]) -> None:
    """It is its owner's alone, and has a digest."""
    key = people.invite(front.people, next(names))
    text = front.people.read_text()
    assert key not in text
    assert key.removeprefix(people.PREFIX) not in text
    assert front.people.stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_revoked_is_so_at_once(front: Served, names: Iterator[str]) -> None:
    """For the next request, and in the middle of an answer, whose question ends; others go on."""
    first, second = next(names), next(names)
    keys = {name: people.invite(front.people, name) for name in (first, second)}
    asked = {"model": "hocket-alone", "messages": USER, "max_tokens": 200, "stream": True}
    with httpx2.stream("POST", front.url + CHAT, json=asked, headers=bearer(keys[first]), timeout=WAIT_S) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if "source" in line)
        people.revoke(front.people, first)
        rest = [line.removeprefix("data: ") for line in lines if line]
    assert json.loads(rest[-1])["error"]["code"] == "invalid_api_key"
    assert len(rest) < 100
    until(lambda: front.in_work() == 0)
    assert post(front, keys[first]).status_code == 401
    assert post(front, keys[second]).status_code == 200
    people.revoke(front.people, second)
    assert post(front, "").status_code == 401


def test_what_is_asked_with_a_key_for_alone_stays(front: Served, names: Iterator[str]) -> None:
    """No word of it is in a frame to the cloud, whatever model it names; other questions of the same moment are."""
    alone = people.invite(front.people, next(names), alone_only=True)
    both = people.invite(front.people, next(names))
    assert front.tap is not None
    secret = [{"role": "user", "content": "canary0815 kala?"}]
    listed = httpx2.get(f"{front.url}/v1/models", headers=bearer(alone), timeout=WAIT_S).json()["data"]
    assert [each["id"] for each in listed] == ["hocket-alone"]
    for model in ("hocket", "hocket-auto", "hocket-dispatch", "hocket-graph"):
        assert post(front, alone, model=model, messages=secret).status_code == 403
    assert post(front, alone, model="hocket-alone", messages=secret).status_code == 200
    body = {"model": "hocket", "messages": secret, "options": {"num_predict": 4}}
    assert httpx2.post(f"{front.url}/api/chat", json=body, headers=bearer(alone), timeout=WAIT_S).status_code == 403
    ollama = httpx2.post(
        f"{front.url}/api/chat", json={**body, "model": "hocket-alone:latest"}, headers=bearer(alone), timeout=WAIT_S
    )
    assert ollama.status_code == 200
    public = [{"role": "user", "content": "mirabelle kala?"}]
    assert post(front, both, messages=public).status_code == 200
    frames = [frame for recorded in front.tap.recorded() for each in messages(recorded) for frame in each]
    assert any(b"mirabelle" in frame for frame in frames)
    assert not [frame for frame in frames if b"canary" in frame]


def test_a_key_for_a_folder_reads_that_alone(front: Served, names: Iterator[str]) -> None:
    """The device searches there and nowhere else, and no other document is shown."""
    key = people.invite(front.people, next(names), folders=("/home/anna/letters",))
    assert post(front, key).status_code == 200
    assert front.retrieval is not None
    assert front.retrieval.searched[-1].within == ["/home/anna/letters"]
    assert post(front, key, within=["/home/anna/letters/2026/"]).status_code == 200
    assert front.retrieval.searched[-1].within == ["/home/anna/letters/2026/"]
    for wanted in (["/home/anna"], ["/home/anna/letters", "device-0"], ["/home/anna/letters/../x"]):
        refused = post(front, key, within=wanted)
        assert (refused.status_code, refused.json()["error"]["param"]) == (403, "within")
    for name in ("device-0", "/home/anna/letters2/x.md", "/home/anna/letters/../x.md"):
        assert httpx2.get(f"{front.url}/documents/{name}", headers=bearer(key), timeout=WAIT_S).status_code in (
            403,
            404,
        )


def test_a_key_asks_so_many_at_once(front: Served, names: Iterator[str]) -> None:
    """And another one is not held up."""
    one, other = (people.invite(front.people, next(names), at_once=1) for _ in range(2))
    asked = {"model": "hocket-alone", "messages": USER, "max_tokens": 200, "stream": True}
    with httpx2.stream("POST", front.url + CHAT, json=asked, headers=bearer(one), timeout=WAIT_S) as stream:
        lines = stream.iter_lines()  # it ends the answer when it is let go
        next(line for line in lines if "source" in line)
        refused = post(front, one)
        assert (refused.status_code, refused.json()["error"]["type"]) == (429, "rate_limit_error")
        assert int(refused.headers["retry-after"]) >= 1
        assert post(front, other).status_code == 200
    until(lambda: front.in_work() == 0)


def test_a_key_that_fills_the_daemon_leaves_the_next_place_to_another(
    tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has fewer questions in work waits for it, and is answered; meanwhile whoever has more takes none."""
    monkeypatch.setattr(questions, "KEPT_S", WAIT_S)
    with served(tiny_models, hold_s=0.05, max_sessions=2) as front, ExitStack() as stack, ThreadPoolExecutor() as pool:
        one, other = (people.invite(front.people, name) for name in ("one", "other"))
        asked = {"model": "hocket-alone", "messages": USER, "max_tokens": 200, "stream": True}
        streams = [
            stack.enter_context(
                httpx2.stream("POST", front.url + CHAT, json=asked, headers=bearer(one), timeout=WAIT_S)
            )
            for _ in range(2)
        ]
        lines = [stream.iter_lines() for stream in streams]  # each ends its answer when it is let go
        for each in lines:
            next(line for line in each if "source" in line)
        waiting = pool.submit(post, front, other, model="hocket-alone")
        refused: list[str] = []

        def is_told_to_wait() -> bool:
            refused.append(post(front, one, model="hocket-alone").text)
            return "another key with fewer" in refused[-1]

        until(is_told_to_wait)
        streams[0].close()
        assert waiting.result(WAIT_S).status_code == 200
        until(lambda: front.in_work() <= 1)
        assert post(front, one, model="hocket-alone").status_code == 200


def test_a_full_daemon_refuses_who_has_as_many_as_anybody(tiny_models: dict[str, Path]) -> None:
    """At once: nobody gives way to an equal."""
    with served(tiny_models, hold_s=0.05, max_sessions=1) as front:
        one, other = (people.invite(front.people, name) for name in ("one", "other"))
        asked = {"model": "hocket-alone", "messages": USER, "max_tokens": 200, "stream": True}
        with httpx2.stream("POST", front.url + CHAT, json=asked, headers=bearer(one), timeout=WAIT_S) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if "source" in line)
            assert post(front, other, model="hocket-alone").json()["error"]["code"] == "busy"


def test_a_key_asks_so_many_a_minute(tiny_models: dict[str, Path]) -> None:
    """With the seconds after which it may again."""
    with served(tiny_models, a_minute=2) as front:
        one, other = (people.invite(front.people, name) for name in ("one", "other"))
        assert [post(front, one).status_code for _ in range(3)] == [200, 200, 429]
        assert 1 <= int(post(front, one).headers["retry-after"]) <= 60
        assert post(front, other).status_code == 200


def test_a_file_that_cannot_be_read_lets_nobody_in(front: Served, names: Iterator[str]) -> None:
    key = people.invite(front.people, next(names))
    whole = front.people.read_text()
    front.people.write_text(whole[:-20])
    assert post(front, key).status_code == 503
    front.people.write_text(whole)
    front.people.chmod(0o644)
    assert post(front, key).status_code == 503
    front.people.chmod(0o600)
    assert post(front, key).status_code == 200


def test_strangers_cannot_ask_without_keys(tmp_path: Path) -> None:
    """At an address that others reach it does not begin without a file of keys."""
    settings = ServeSettings(host="0.0.0.0", port=0, people=str(tmp_path / "people.json"))
    with pytest.raises(BadConfiguration, match="hocket serve keys new"):
        listener(settings, People(Path(settings.people)))
    people.invite(Path(settings.people), "anna")
    listener(settings, People(Path(settings.people))).close()


def test_keys_are_made_by_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed once, listed without the key, taken away."""
    home = ["--home", str(tmp_path / "home")]
    rights = ["--alone-only", "--in", "/letters", "--in", "/a", "--at-once", "2"]
    assert run(["serve", "keys", "new", "anna", *rights, *home]) == 0
    key = capsys.readouterr().out.strip()
    file = tmp_path / "home" / "serve-keys.json"
    person = People(file).of(key)
    assert (person.name, person.alone_only, person.folders, person.at_once) == ("anna", True, ("/letters", "/a"), 2)
    assert run(["serve", "keys", "new", "anna", *home]) == 2
    assert run(["serve", "keys", "list", "--json", *home]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed == {"name": "anna", "alone_only": True, "in": ["/letters", "/a"], "may_upload": False, "at_once": 2}
    assert run(["serve", "keys", "revoke", "anna", *home]) == 0
    assert run(["serve", "keys", "revoke", "anna", *home]) == 2
    assert People(file).are_asked_for_keys


def test_a_record_names_whose_question_it_was(
    front: Served, names: Iterator[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So does the ledger, with every byte that left for it; and the cloud is told no name."""
    name = f"canary-{next(names)}"
    key = people.invite(front.people, name)
    body = {"model": "hocket", "messages": USER, **SHORT}
    head = {"authorization": f"Bearer {key}"}
    assert front.tap is not None
    asked = httpx2.post(f"{front.url}/v1/chat/completions", json=body, headers=head, timeout=WAIT_S)
    number = asked.json()["hocket"]["id"]
    front.people.unlink()
    until(lambda: httpx2.get(f"{front.url}/explanations/{number}", timeout=WAIT_S).status_code == 200)
    record = httpx2.get(f"{front.url}/explanations/{number}", timeout=WAIT_S).json()["record"]
    assert (record["asked by"], record["question"]) == (name, USER[0]["content"])
    assert {each["class"] for each in record["left"]} >= {"query"}
    of_pair = front.pair.folder
    (tmp_path / "device.toml").write_text(f'decisions = "{of_pair}/decisions.db"\negress.ledger = "{of_pair}/ledger"\n')

    def left() -> dict[str, int]:
        assert run(["audit", "--by", "key", "--json", "--home", str(tmp_path)]) == 0
        printed = capsys.readouterr().out.splitlines()[-1]  # the gateway's log stands before it
        return {row["key"]: row["bytes"] for row in json.loads(printed)["rows"]}.get(name, {})

    expected = {each["class"]: each["bytes"] for each in record["left"]}
    until(lambda: left() == expected)
    frames = [frame for recorded in front.tap.recorded() for each in messages(recorded) for frame in each]
    assert any(USER[0]["content"].encode() in frame for frame in frames)
    assert not [frame for frame in frames if name.encode() in frame]


def test_a_name_is_checked(tmp_path: Path) -> None:
    """It stands in logs."""
    for name in ("", "a b", "x" * 65, "a\n"):
        assert run(["serve", "keys", "new", name, "--home", str(tmp_path)]) == 2
