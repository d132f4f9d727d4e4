"""The bus on real sockets: links come up, streams lose no first message, a broken connection is noticed."""

from __future__ import annotations

import os
import shutil
import time
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
import zmq
from structlog.testing import capture_logs

from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadConfiguration, OtherVersion, ProtocolError, Unavailable
from hocket_bus.faults import raised
from hocket_bus.messages import (
    PROTOCOL_VERSION,
    Cancel,
    Chunks,
    Error,
    Failed,
    Hello,
    Message,
    Notice,
    Passage,
    Passages,
    Refused,
    Sync,
    Welcome,
)
from hocket_bus.sockets import Bus, Event, Greeted, LinkDown, LinkUp, Received, Server
from hocket_bus.sockets.awake_clock import AwakeClock
from hocket_bus.sockets.listening import Listening
from hocket_bus.wire import decode, encode
from waiting import WAIT_S, until


def welcome(_: Hello) -> Welcome:
    return Welcome(role="device", epoch=1)


def test_every_link_comes_up_and_gets_the_first_message_of_its_topic(tmp_path: Path) -> None:
    """Three hundred connections, each published to the moment it is up: none misses it, none hears another's."""
    endpoint = f"ipc://{tmp_path}/x"
    with Bus(lambda _: None) as serving:
        server = serving.serve(endpoint, welcome)
        for number in range(300):
            inbox: SimpleQueue[Event] = SimpleQueue()
            topic = os.urandom(16)
            with Bus(inbox.put) as dialing:
                dialing.dial(endpoint, Hello(role="client"), topic)
                assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
                server.publish(os.urandom(16), Notice(request=bytes(16), seq=0, text="other"))
                server.publish(topic, Notice(request=bytes(16), seq=number, text="own"))
                event = inbox.get(timeout=WAIT_S)
                assert isinstance(event, Received)
                assert event.message == Notice(request=bytes(16), seq=number, text="own")


def test_a_daemon_of_another_version_is_named(tmp_path: Path) -> None:
    """Not taken for one that is silent."""
    inbox: SimpleQueue[Event] = SimpleQueue()
    with zmq.Context() as context, context.socket(zmq.ROUTER) as old, Bus(inbox.put) as bus:
        old.linger = 0
        old.bind(f"ipc://{tmp_path}/x")
        bus.dial(f"ipc://{tmp_path}/x", Hello(role="client"))
        assert old.poll(WAIT_S * 1000)
        route, *_ = old.recv_multipart()
        (header, body) = encode(Error(code="bad_message", text="?"))
        old.send_multipart([route, header[:2] + bytes((PROTOCOL_VERSION - 1,)) + header[3:], body])
        down = inbox.get(timeout=WAIT_S)
    assert isinstance(down, LinkDown)
    assert isinstance(down.reason, OtherVersion)
    assert "the same hocket on both ends" in str(down.reason)


def test_an_end_that_speaks_another_version_gets_one_line(tmp_path: Path) -> None:
    """Whatever it says, also where its own message of that code has other fields; the server lives on."""
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(inbox.put) as bus, zmq.Context() as context, context.socket(zmq.DEALER) as old:
        server = bus.serve(f"ipc://{tmp_path}/x", welcome)
        old.linger = 0
        old.connect(f"ipc://{tmp_path}/x")
        for header in (b"HK\x04\x01", b"HK\x04\x20"):
            old.send_multipart([header, b"\x93\xa6device\x04\xa0"])
            assert old.poll(WAIT_S * 1000)
            answer = decode(old.recv_multipart())
            assert isinstance(answer, Error)
            assert str(raised(answer)).startswith(f"protocol version 4, this end speaks {PROTOCOL_VERSION}: ")
            assert (answer.code, answer.request) == ("bad_message", b"")
        assert server.bad_messages.count == 2
        assert inbox.empty()


def test_the_empty_topic_reads_nothing(tmp_path: Path) -> None:
    """A subscription to a prefix of every topic is not accepted."""
    endpoint = f"ipc://{tmp_path}/x"
    inbox: SimpleQueue[Event] = SimpleQueue()
    topic = os.urandom(16)
    with Bus(inbox.put) as bus:
        server = bus.serve(endpoint, welcome)
        context = zmq.Context()
        spy = context.socket(zmq.SUB)
        spy.subscribe(b"")
        spy.subscribe(topic[:5])
        spy.connect(endpoint + ".pub")
        bus.dial(endpoint, Hello(role="client"), topic)
        assert {type(inbox.get(timeout=WAIT_S)) for _ in range(2)} == {Greeted, LinkUp}
        for _ in range(100):
            server.publish(topic, Notice(request=bytes(16), seq=0, text="private"))
        for _ in range(100):
            inbox.get(timeout=WAIT_S)
        assert not spy.poll(200)
        context.destroy(linger=0)


def test_an_answer_that_nobody_would_read_is_an_error_at_once(tmp_path: Path) -> None:
    """In place of a reply, of the event of a stream and of what a session is told; with one line in the log each."""
    one, topic, inbox = os.urandom(16), os.urandom(16), SimpleQueue[Event]()
    greeted: SimpleQueue[Event] = SimpleQueue()
    beyond = Passage(document="a", title="", ordinal=0, text="b", score=0.5, rank=1.0000000000000002)
    reply = Passages(request=one, passages=[beyond], scorer="", scorers=[], documents_total=1, seconds=0.0)
    event = Notice(request=one, seq=7, text="x" * 2_001)
    told = Sync(session=one, epoch=3, confirmed=-1, digest=0)
    long = Chunks(request=one, version=0, texts=["x" * 50_000] * 30, last=1)
    with Bus(greeted.put) as serving, Bus(inbox.put) as dialing, capture_logs() as logs:
        server = serving.serve(f"ipc://{tmp_path}/x", welcome)
        dialing.dial(server.endpoint, Hello(role="client"), topic, takes=(Error, Failed, Refused))
        here = greeted.get(timeout=WAIT_S)
        assert isinstance(here, Greeted)
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
        got: list[Message] = []
        for send in (partial(server.send, here.route), partial(server.publish, topic)):
            for message in (reply, event, told, long):
                send(message)
                received = inbox.get(timeout=WAIT_S)
                assert isinstance(received, Received)
                got.append(received.message)
    error, failed, refused, longer = got[:4]
    assert got[4:] == got[:4]
    assert error == longer
    assert isinstance(error, Error)
    assert error.request == one
    assert isinstance(failed, Failed)
    assert (failed.request, failed.seq) == (one, 7)
    assert isinstance(refused, Refused)
    assert (refused.session, refused.epoch) == (one, 3)
    lines = [line["error"] for line in logs if "breaks the protocol" in line["event"]]
    assert "Passages: Expected `float` <= 1.0" in lines[0]
    assert len(lines) == 4  # the 1st, 2nd, 4th and 8th


def test_messages_from_many_threads_all_arrive(tmp_path: Path) -> None:
    """No wake is lost between threads that send at once."""
    import threading

    arrived: SimpleQueue[Event] = SimpleQueue()
    up: SimpleQueue[Event] = SimpleQueue()
    endpoint = f"ipc://{tmp_path}/x"
    with Bus(arrived.put) as serving, Bus(up.put) as dialing:
        serving.serve(endpoint, welcome)
        link = dialing.dial(endpoint, Hello(role="client"))
        up.get(timeout=WAIT_S)
        assert isinstance(arrived.get(timeout=WAIT_S), Greeted)

        def send() -> None:
            for _ in range(300):
                link.send(Cancel(request=bytes(16)))

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(1200):
            assert isinstance(arrived.get(timeout=WAIT_S), Received)
        for thread in threads:
            thread.join()


def test_a_server_that_goes_and_comes_back_is_noticed_both_ways(tmp_path: Path) -> None:
    """LinkDown as soon as the connection breaks, LinkUp when somebody answers again."""
    endpoint = f"ipc://{tmp_path}/x"
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(inbox.put) as dialing:
        for epoch in (1, 2):
            with Bus(lambda _: None) as serving:
                serving.serve(endpoint, lambda _, epoch=epoch: Welcome(role="device", epoch=epoch))  # type: ignore[misc]
                if epoch == 1:
                    dialing.dial(endpoint, Hello(role="client"), os.urandom(16))
                event = inbox.get(timeout=WAIT_S)
                while isinstance(event, LinkDown):
                    event = inbox.get(timeout=WAIT_S)
                assert isinstance(event, LinkUp)
                assert event.welcome.epoch == epoch
            assert isinstance(inbox.get(timeout=WAIT_S), LinkDown)


def test_after_a_sleep_links_are_made_anew_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The boot clock runs ahead by an hour: down for that reason and up again, long before the other end's silence."""
    endpoint = f"ipc://{tmp_path}/x"
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(lambda _: None) as serving, Bus(inbox.put) as dialing:
        serving.serve(endpoint, welcome)
        dialing.dial(endpoint, Hello(role="client"), os.urandom(16))
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
        read = time.clock_gettime
        monkeypatch.setattr(time, "clock_gettime", lambda clock: read(clock) + 3600 * (clock == time.CLOCK_BOOTTIME))
        down, up = inbox.get(timeout=WAIT_S), inbox.get(timeout=WAIT_S)
        assert isinstance(down, LinkDown)
        assert "asleep" in str(down.reason)
        assert isinstance(up, LinkUp)
        with pytest.raises(Empty):
            inbox.get(timeout=1.0)  # once per sleep


def test_time_in_which_nothing_could_be_read_is_not_silence() -> None:
    """A process that was stopped for a minute counts half a second of it."""
    clock = AwakeClock()
    began = time.monotonic()
    for second in (0.4, 0.8, 60.8, 61.2):
        clock.step(began + second)
    assert clock.s == pytest.approx(1.7, abs=0.1)


def test_back_off_grows_and_is_jittered_and_nobody_names_itself(tmp_path: Path) -> None:
    """Pauses between attempts differ from link to link; the names of connections are libzmq's own."""
    with Bus(lambda _: None) as bus:
        links = [bus.dial(f"ipc://{tmp_path}/x", Hello(role="client")) for _ in range(20)]

        def check() -> None:
            assert {link._sockets[0].routing_id for link in links if link._sockets} == {b""}
            for failures, longest_s in ((0, 0.2), (3, 1.6), (50, 5.0)):
                shares = set()
                for link in links:
                    link._failures, began_s = failures, time.monotonic()
                    link._fail(Unavailable("", ""), 0.0)
                    assert link.due_s - began_s >= longest_s / 2
                    assert link.due_s - time.monotonic() <= longest_s
                    shares.add(round((link.due_s - began_s) / longest_s, 2))
                assert len(shares) > 5

        bus._call(check)


def test_a_refusal_carries_its_reason(tmp_path: Path) -> None:
    """Hello answered with an error: LinkDown with the typed reason."""
    endpoint = f"ipc://{tmp_path}/x"
    inbox: SimpleQueue[Event] = SimpleQueue()
    with Bus(inbox.put) as bus:
        bus.serve(endpoint, lambda _: Error(code="protocol", text="other tokenizer", remedy="mend it"))
        bus.dial(endpoint, Hello(role="device"))
        event = inbox.get(timeout=WAIT_S)
        assert isinstance(event, LinkDown)
        assert isinstance(event.reason, ProtocolError)
        assert str(event.reason) == "other tokenizer: mend it"


def test_a_second_server_at_a_path_is_refused(tmp_path: Path) -> None:
    """Binding it again would silently steal the first one's clients."""
    endpoint = f"ipc://{tmp_path}/x"
    with Bus(lambda _: None) as first, Bus(lambda _: None) as second:
        assert isinstance(first.serve(endpoint, welcome), Server)
        with pytest.raises(BadConfiguration, match="another daemon already listens"):
            second.serve(endpoint, welcome)


@pytest.mark.parametrize("removed", [["run"], ["run/x"], ["run/x.pub"], ["run/x.lock"], ["run/x", "run/x.pub"]])
def test_a_server_whose_files_are_removed_listens_on(tmp_path: Path, removed: list[str]) -> None:
    """Who is connected stays so, who comes later is let in, and the path is still that server's alone, each time."""
    endpoint = f"ipc://{tmp_path}/run/x"
    inbox: SimpleQueue[Event] = SimpleQueue()
    topic = os.urandom(16)
    notice = Notice(request=bytes(16), seq=0, text="on")
    with Bus(lambda _: None) as serving, Bus(inbox.put) as dialing:
        server = serving.serve(endpoint, welcome)
        dialing.dial(endpoint, Hello(role="client"), topic)
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
        for _ in range(2):
            for name in removed:
                path = tmp_path / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            until(lambda: all((tmp_path / "run" / name).exists() for name in ("x", "x.pub", "x.lock")))
            late: SimpleQueue[Event] = SimpleQueue()
            with Bus(late.put) as new:
                new.dial(endpoint, Hello(role="client"), topic)
                assert isinstance(late.get(timeout=WAIT_S), LinkUp)
                server.publish(topic, notice)
                for hears in (late, inbox):
                    event = hears.get(timeout=WAIT_S)
                    assert isinstance(event, Received)
                    assert event.message == notice
            with Bus(lambda _: None) as second, pytest.raises(BadConfiguration, match="another daemon already listens"):
                second.serve(endpoint, welcome)


def test_a_server_that_has_ended_leaves_its_path_alone(tmp_path: Path) -> None:
    """Also where its loop looks once more."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, context.socket(zmq.XPUB) as xpub:
        listening = Listening(f"ipc://{tmp_path}/x", router, xpub)
        listening.begin()
        listening.end()
        (tmp_path / "x").unlink()
        listening.look()
        assert not (tmp_path / "x").exists()


def test_a_server_whose_folder_is_gone_serves_who_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that nobody else can come; in a folder that was moved it listens on."""
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    inbox: SimpleQueue[Event] = SimpleQueue()
    topic = os.urandom(16)
    with capture_logs() as said, Bus(lambda _: None) as serving, Bus(inbox.put) as dialing:
        server = serving.serve("ipc://run/x", welcome)
        dialing.dial("ipc://run/x", Hello(role="client"), topic)
        assert isinstance(inbox.get(timeout=WAIT_S), LinkUp)
        (tmp_path / "home").rename(tmp_path / "moved")
        shutil.rmtree(tmp_path / "moved" / "run")
        until((tmp_path / "moved" / "run" / "x.pub").exists)
        shutil.rmtree(tmp_path / "moved")
        until(lambda: sum(line["event"] == "cannot listen" for line in said) > 1)
        assert not any(line["log_level"] == "error" for line in said)
        server.publish(topic, Notice(request=bytes(16), seq=0, text="on"))
        assert isinstance(inbox.get(timeout=WAIT_S), Received)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "tcp://*:5000",
        "tcp://0.0.0.0:5000",
        "tcp://[::]:5000",
        "tcp://host",
        "tcp://host:0",
        "http://x:1",
        "tcp://a b:5000",
        "tcp://größe:5000",
        "tcp://[::1:5000",
        "tcp://host:²",
        "ipc://",
        "ipc://" + "x" * 120,
    ],
)
def test_endpoints_that_are_none_are_named(bad: str) -> None:
    """Including those that would listen on every interface."""
    with pytest.raises(BadConfiguration):
        check_endpoint(bad)


def test_what_was_said_before_hanging_up_is_heard(tmp_path: Path) -> None:
    """An end that speaks and closes: all that it said comes before the news that it is gone."""
    for number in range(60):
        endpoint = f"ipc://{tmp_path}/{number}"
        asked: SimpleQueue[Event] = SimpleQueue()
        heard: SimpleQueue[Event] = SimpleQueue()
        with Bus(heard.put) as dialing:
            serving = Bus(asked.put)
            server = serving.serve(endpoint, welcome)
            link = dialing.dial(endpoint, Hello(role="client"))
            assert isinstance(heard.get(timeout=WAIT_S), LinkUp)
            link.send(Cancel(request=bytes(16)))
            assert isinstance(asked.get(timeout=WAIT_S), Greeted)
            event = asked.get(timeout=WAIT_S)
            assert isinstance(event, Received)
            for seq in range(300):
                server.send(event.route, Notice(request=bytes(16), seq=seq, text="last words"))
            serving.close(linger_s=1.0)
            told: list[int] = []
            while isinstance(news := heard.get(timeout=WAIT_S), Received):
                assert isinstance(news.message, Notice)
                told.append(news.message.seq)
            assert isinstance(news, LinkDown)
            assert told == list(range(300))
