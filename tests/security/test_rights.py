"""What a key may do is what was said when it was allowed, message by message, and nothing more."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog
import zmq

from generated import corpus
from hocket_bus import wire
from hocket_bus.errors import BadConfiguration, Untrusted
from hocket_bus.limits.malformed import MAX_MALFORMED
from hocket_bus.messages import (
    ANSWERS,
    BY_CODE,
    CODE_OF,
    NEEDS_OF,
    RIGHTS,
    Ask,
    Begin,
    Cancel,
    Done,
    Error,
    Hello,
    ListDocuments,
    Message,
    Notice,
    Ping,
    Pong,
    Right,
    StatusRequest,
    Subscribed,
    Welcome,
)
from hocket_bus.sockets import Bus, LinkDown, Received
from hocket_bus.trust.keys import PEERS, Keys, Peer, read_peers, write_peers
from hocket_bus.wire import decode, encode
from hocket_client import Client
from hocket_tools.caller import Caller
from hocket_tools.main import run
from machines import AT, PORT, Machine, dial, is_up, serve
from waiting import WAIT_S

EACH = {type(message): message for message in corpus(1)} | {Hello: Hello(role="client")}
GIVEN = [right for right in RIGHTS if right != "dial"]
UNREADABLE = b"\xc1"  # what msgpack never uses


@pytest.fixture
def server(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "server")


@pytest.fixture
def visitor(tmp_path: Path, server: Machine) -> Machine:
    return Machine(tmp_path / "visitor").knows(server=Peer(server.own.public, AT))


@pytest.fixture(autouse=True)
def _soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket_bus.sockets.link.REFUSED_BACKOFF_S", 0.5)


def lets(server: Machine, visitor: Machine, *may: Right) -> None:
    server.knows(visitor=Peer(visitor.own.public, may=frozenset(may)))


def replies(raw: zmq.Socket[bytes], *frames: list[bytes]) -> Iterator[Message]:
    """What comes back to `frames`, up to the echo of a ping sent behind them."""
    asked_s = time.monotonic()
    for each in (*frames, encode(Ping(sent_s=asked_s))):
        raw.send_multipart(each)
    while True:
        assert raw.poll(int(WAIT_S * 1000))
        message = decode(raw.recv_multipart())
        if isinstance(message, Pong) and message.sent_s == asked_s:
            return
        yield message


def taken(server: Machine) -> set[type[Message]]:
    kinds = set()
    while not server.inbox.empty():
        event = server.inbox.get()
        if isinstance(event, Received):
            kinds.add(type(event.message))
    return kinds


@pytest.mark.parametrize("right", GIVEN)
def test_every_message_is_taken_or_refused_as_the_table_says(server: Machine, visitor: Machine, right: Right) -> None:
    """Of a key with this right alone; who may not is told which right is wanting and how to give it."""
    lets(server, visitor, right)
    with server.bus() as there, visitor.raw(zmq.DEALER) as raw:
        serve(there)
        for kind, message in EACH.items():
            needs, said = NEEDS_OF[kind], list(replies(raw, encode(message)))
            if needs in ("nothing", right):
                assert not any(isinstance(each, Error) for each in said), kind
                assert taken(server) == ({kind} if needs == right else set())
                continue
            assert taken(server) == set(), kind
            (refusal,) = said
            assert isinstance(refusal, Error)
            assert refusal.code == ("bad_message" if needs == "never" else "untrusted"), kind
            assert refusal.request == (getattr(message, "request", b"") if kind is not Error else b"")
            if needs != "never":
                assert f"no right '{needs}'" in refusal.text
                both = ",".join(each for each in RIGHTS if each in (right, needs))
                assert refusal.remedy.endswith(f"hocket keys allow visitor '{visitor.own.public}' --may {both}")


def test_the_table_is_whole() -> None:
    """Each message needs something known, and what only binding ends send is what none of them takes."""
    assert set(NEEDS_OF) == set(BY_CODE.values()) == set(EACH)
    assert set(NEEDS_OF.values()) == {*GIVEN, "nothing", "never"}
    assert {kind for kind, needs in NEEDS_OF.items() if needs == "never"} == ANSWERS


def test_what_is_not_taken_is_not_decoded(server: Machine, visitor: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an end that takes one kind: of all others not a byte of the body is looked at, though it is no message."""
    decoded: list[int] = []

    def watched(frames: list[bytes]) -> Message:
        decoded.append(frames[0][3])
        return wire.decode(frames)

    monkeypatch.setattr("hocket_bus.sockets.server.decode", watched)
    lets(server, visitor, "ask", "pair", "documents")
    with server.bus() as there, visitor.raw(zmq.DEALER) as raw:
        there.serve(AT, lambda _: Welcome(role="cloud", epoch=1), takes=(Ask, StatusRequest))
        for kind, code in CODE_OF.items():
            (refusal,) = replies(raw, [encode(EACH[kind])[0], UNREADABLE * 100_000])
            assert isinstance(refusal, Error)
            assert refusal.code == ("untrusted" if kind is StatusRequest else "bad_message")
            assert (code in decoded) == (kind in (Ask, Hello, Ping)), kind


def test_a_link_drops_what_it_does_not_take_undecoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its server sends; what it takes still comes."""
    decoded: list[int] = []

    def watched(frames: list[bytes]) -> Message:
        decoded.append(frames[0][3])
        return wire.decode(frames)

    monkeypatch.setattr("hocket_bus.sockets.link.decode", watched)
    there, here = Machine(tmp_path / "there"), Machine(tmp_path / "here")
    endpoint = f"ipc://{tmp_path}/x"
    with there.bus() as serving, here.bus() as dialing:
        server = serving.serve(endpoint, lambda _: Welcome(role="cloud", epoch=1))
        link = dialing.dial(endpoint, Hello(role="client"), takes=(Notice,))
        here.until(is_up)
        link.send(Cancel(request=bytes(16)))
        route = there.received().route
        for message in (*EACH.values(), Notice(request=b"n" * 16, seq=1, text="")):
            server.send(route, message)
        here.until(lambda event: isinstance(event, Received) and event.message == Notice(b"n" * 16, 1, ""))
    always = {CODE_OF[kind] for kind in (Welcome, Pong, Subscribed, Error, Notice)}
    assert always <= set(decoded) <= always


def test_a_key_to_dial_is_not_let_in(server: Machine, visitor: Machine) -> None:
    """One line here says whose it was; the other end hears that it is not allowed, on either socket."""
    server.knows(cloud=Peer(visitor.own.public, "tcp://far:7000"))
    with structlog.testing.capture_logs() as log, server.bus() as there, visitor.bus() as here:
        serve(there)
        dial(here, os.urandom(16))
        down = visitor.until(lambda event: isinstance(event, LinkDown) and isinstance(event.reason, Untrusted))
        assert isinstance(down, LinkDown)
        assert "does not allow this machine's key" in str(down.reason)
        assert server.inbox.empty()
    lines = [line for line in log if line["event"] == "refused a key that may only be dialled"]
    assert lines[0]["name"] == "cloud"
    assert lines[0]["allow"].endswith("--at tcp://far:7000 --may ask")


def test_rights_are_those_of_the_last_reload(server: Machine, visitor: Machine) -> None:
    """From the next message on, and the next event of a stream, on connections that stand."""
    lets(server, visitor, "ask")
    topic = os.urandom(16)
    with server.bus() as there, visitor.bus() as here:
        serving = serve(there)
        link = dial(here, topic)
        visitor.until(is_up)
        for may, heard in ((("ask",), True), (("watch",), False), (("ask", "watch"), True)):
            lets(server, visitor, *may)
            there.reload_keys()
            link.send(Cancel(request=bytes(16)))
            serving.publish(topic, Notice(request=bytes(16), seq=0, text=str(may)))
            if heard:
                assert server.received().message == Cancel(request=bytes(16))
                assert visitor.received().message == Notice(request=bytes(16), seq=0, text=str(may))
            else:
                refusal = visitor.received().message
                assert isinstance(refusal, Error)
                assert (refusal.code, refusal.request) == ("untrusted", bytes(16))
        lets(server, visitor, "dial")
        there.reload_keys()
        link.send(Cancel(request=bytes(16)))
        visitor.until(lambda event: isinstance(event, LinkDown) and "no longer allowed" in str(event.reason))
        assert taken(server) == set()


def test_only_who_may_ask_subscribes(tmp_path: Path, server: Machine, visitor: Machine) -> None:
    """Others are told once, on a topic of nobody else's."""
    reader = Machine(tmp_path / "reader").knows(server=Peer(server.own.public, AT))
    server.knows(
        visitor=Peer(visitor.own.public, may=frozenset({"pair", "documents", "watch"})),
        reader=Peer(reader.own.public, may=frozenset({"ask"})),
    )
    theirs, own, last = (os.urandom(16) for _ in range(3))
    with server.bus() as there, reader.bus() as here, visitor.raw(zmq.SUB, port=PORT + 1) as spy:
        serving = serve(there)
        dial(here, theirs)
        reader.until(is_up)
        for topic in (theirs, own):
            spy.subscribe(topic)
        assert spy.poll(int(WAIT_S * 1000))
        told = spy.recv_multipart()
        assert told[0] == own
        refusal = decode(told[1:])
        assert isinstance(refusal, Error)
        assert "no right 'ask'" in refusal.text
        for topic in (theirs, own):
            serving.publish(topic, Notice(request=bytes(16), seq=0, text=""))
        assert reader.received().message == Notice(request=bytes(16), seq=0, text="")
        spy.subscribe(last)  # it is told of this one behind all that was published
        assert spy.poll(int(WAIT_S * 1000))
        assert spy.recv_multipart()[0] == last


def test_who_may_not_is_told_at_once(server: Machine, visitor: Machine) -> None:
    """A program that would ask, one that calls, and a device that would pair: one clear line each, no deadline."""
    lets(server, visitor, "documents")
    with server.bus() as there:
        serve(there)
        with pytest.raises(Untrusted, match="no right 'ask'.*--may ask,documents"):
            Client(AT, connect_s=WAIT_S, keys=visitor.folder)
        with Caller(AT, WAIT_S, visitor.folder) as caller, pytest.raises(Untrusted, match="--may documents,watch"):
            caller.ask(StatusRequest(request=bytes(16)), Done, WAIT_S)
        with visitor.bus() as here:
            here.dial(AT, Hello(role="device"))
            down = visitor.until(lambda event: isinstance(event, LinkDown) and isinstance(event.reason, Untrusted))
            assert isinstance(down, LinkDown)
            assert "no right 'pair'" in str(down.reason)


def test_a_question_whose_right_is_taken_away_ends(server: Machine, visitor: Machine) -> None:
    """In a typed error, at the client's next word."""
    lets(server, visitor, "ask")
    with server.bus() as there:
        serve(there)
        with Client(AT, connect_s=WAIT_S, keys=visitor.folder) as client:
            stream = client.ask("anything?", deadline_s=WAIT_S)
            assert isinstance(server.received().message, Ask)
            lets(server, visitor, "pair")
            there.reload_keys()
            with pytest.raises(Untrusted, match="no right 'ask'"):
                stream.result()


def test_who_asks_in_vain_is_not_locked_out(server: Machine, visitor: Machine) -> None:
    """However often, what its key may do it still may; only what is never taken counts as malformed."""
    lets(server, visitor, "watch")
    with server.bus() as there, visitor.raw(zmq.DEALER) as raw:
        serve(there)
        vain = [encode(EACH[Ask])] * (2 * MAX_MALFORMED)
        assert {each.code for each in replies(raw, *vain) if isinstance(each, Error)} == {"untrusted"}
        assert list(replies(raw, encode(EACH[StatusRequest]))) == []
        for message in [EACH[Done]] * MAX_MALFORMED + [EACH[StatusRequest]]:
            raw.send_multipart(encode(message))
            assert raw.poll(int(WAIT_S * 1000))
            refusal = decode(raw.recv_multipart())
            assert isinstance(refusal, Error)
            assert refusal.code == ("bad_message" if message is EACH[Done] else "untrusted")
        assert "were malformed" in refusal.text


def test_rights_stand_in_the_file(tmp_path: Path) -> None:
    """What is written is read; a key's rights are those of all its names; an unknown right is one line with all."""
    key = Machine(tmp_path / "keys").own.public
    may = frozenset[Right]({"ask", "watch"})
    write_peers(tmp_path / "keys", {"a": Peer(key, may=may), "b": Peer(key, AT), "old": Peer("o" * 40)})
    keys = Keys(tmp_path / "keys")
    assert keys.may("a") == keys.may("b") == may | {"dial"}
    assert keys.may("nobody") == frozenset()
    path = tmp_path / "keys" / PEERS
    path.write_text(path.read_text().replace("watch", "wach"))
    with pytest.raises(BadConfiguration, match=r"peer a: there is no right 'wach': use some of: dial, pair, ask, doc"):
        keys.reload()
    assert keys.may("a") == may | {"dial"}, "a file that cannot be read changes nothing"


def test_entries_without_rights_get_the_least(tmp_path: Path) -> None:
    """Files written before there were any: to be dialled, or to pair."""
    path = tmp_path / PEERS
    path.write_text(f"[peers.server]\nkey = '{'s' * 40}'\nendpoint = '{AT}'\n[peers.laptop]\nkey = '{'l' * 40}'\n")
    path.chmod(0o600)
    assert {name: set(peer.rights) for name, peer in read_peers(tmp_path).items()} == {
        "server": {"dial"},
        "laptop": {"pair"},
    }
    keys = Machine(tmp_path)
    with structlog.testing.capture_logs() as log, keys.bus() as bus:
        serve(bus)
    assert [line["peers"] for line in log if "without `may`" in line["event"]] == [["server", "laptop"]]


def told(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert run(["keys", *command]) == 0
    return capsys.readouterr().out


def test_a_laptop_by_the_book_lets_nobody_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys as docs/use.md has them made: the server's key reaches nothing that the laptop binds, by any message.

    At the server the laptop may pair, and nothing else.
    """
    laptop, cloud = tmp_path / "laptop", tmp_path / "cloud"
    printed = {}
    for home, at in ((cloud, ["--at", AT]), (laptop, [])):
        words = told(capsys, "new", *at, "--home", str(home))
        printed[home] = re.search(r"hocket keys (allow) (\S+) '(.{40})'(?: --at (\S+))?", words)
    for home, other in ((cloud, laptop), (laptop, cloud)):
        found = printed[other]
        assert found is not None
        at = ["--at", found[4]] if found[4] else []
        told(capsys, "allow", "peer", found[3], *at, "--home", str(home))
    listed = {home: json.loads(told(capsys, "list", "--json", "--home", str(home)))[0]["may"] for home in printed}
    assert listed == {cloud: ["pair"], laptop: ["dial"]}
    own = Keys(laptop / "keys").own.public
    events: list[object] = []
    sent = [encode(message) for message in EACH.values()]
    thief = cloud / "keys"
    peers = read_peers(thief)
    write_peers(thief, peers | {"laptop": Peer(own, AT)})
    with Bus(events.append, laptop / "keys") as bus:
        serve(bus)
        machine = Machine(thief)
        with machine.raw(zmq.DEALER) as raw, machine.raw(zmq.SUB, port=PORT + 1) as spy:
            spy.subscribe(b"")
            with suppress(zmq.Again):  # refused already: the connection is given up, and takes nothing more
                for frames in sent:
                    raw.send_multipart(frames, zmq.NOBLOCK)
            assert not raw.poll(1_000)
            assert not spy.poll(100)
    assert events == []
    write_peers(thief, peers)
    write_peers(laptop / "keys", {"cloud": Peer(Keys(thief).own.public, AT)})
    with Bus(events.append, thief) as bus:
        serve(bus)
        with Machine(laptop / "keys").raw(zmq.DEALER) as raw:
            for kind in (ListDocuments, Ask, StatusRequest, Begin):
                said = list(replies(raw, encode(EACH[kind])))
                assert [type(each) for each in said] == ([] if kind is Begin else [Error])
    assert [type(event.message) for event in events if isinstance(event, Received)] == [Begin]


def test_keys_allow_gives_what_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what that is; a right that is none, and dialling without an address, are refused in one line."""
    home = ["--home", str(tmp_path)]
    for at, may, given in (
        ("", "", "pair"), ("", "ask, documents", "ask,documents"), (AT, "", "dial"), (AT, "watch", "dial,watch"),
    ):  # fmt: skip
        options = [*(["--at", at] if at else []), *(["--may", may] if may else [])]
        said = told(capsys, "allow", "peer", "k" * 40, *options, *home)
        assert "no longer" not in said
        assert f"it may here: {given.removeprefix('dial').strip(',') or 'nothing'}" in said
        (peer,) = json.loads(told(capsys, "list", "--json", *home))
        assert ",".join(peer["may"]) == given
        assert given in told(capsys, "list", *home)
    assert f"no longer connected to at {AT}" in told(capsys, "allow", "peer", "k" * 40, *home)
    for wrong in ("ask,everything", "dial"):
        assert run(["keys", "allow", "peer", "k" * 40, "--may", wrong, *home]) == 2
    assert read_peers(tmp_path / "keys")["peer"].rights == {"pair"}
