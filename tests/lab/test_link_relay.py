"""Laws of the relay, over real sockets."""

import asyncio
import errno
import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import structlog

from hocket_lab.link import Conditions, Link, Path, start
from hocket_lab.link.law import DelayLaw
from hocket_lab.link.pipe import BUFFER_BYTES, Pipe
from waiting import WAIT_S, until


class Echo:
    """A server that sends back what it gets and closes its half when the client has closed its own."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: list[socket.socket] = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self) -> None:
        """Serve each connection in a thread of its own."""
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(peer)
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer: socket.socket) -> None:
        """Echo until the peer's end."""
        with peer:
            try:
                while data := peer.recv(65536):
                    peer.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        """Stop listening; connections end with their clients."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(WAIT_S)


@pytest.fixture
def echo() -> Iterator[Echo]:
    """A running echo server."""
    server = Echo()
    yield server
    server.close()


def connect(link: Link) -> socket.socket:
    """A client on the near side of the link."""
    client = socket.create_connection(("127.0.0.1", link.port), timeout=WAIT_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def receive(client: socket.socket, size: int) -> bytes:
    """`size` bytes, or what came before the end."""
    data = bytearray()
    while len(data) < size:
        part = client.recv(min(65536, size - len(data)))
        if not part:
            break
        data += part
    return bytes(data)


def round_trip_s(client: socket.socket) -> float:
    """Seconds from a ping to its echo."""
    began = time.monotonic()
    client.sendall(b"ping")
    assert receive(client, 4) == b"ping"
    return time.monotonic() - began


@pytest.mark.parametrize("seed", range(4))
def test_bytes_come_back_unchanged_in_any_chunking(echo: Echo, seed: int) -> None:
    """Random bytes in random pieces arrive whole and in order under delay, jitter, bandwidth and stalls."""
    source = random.Random(seed)
    data = source.randbytes(300_000)
    path = Path(delay_s=0.005, jitter_s=0.005, bandwidth_bytes_per_s=2e6)
    weather = Conditions(forward=path, backward=path, stall_every_s=0.1, stall_s=0.02, seed=seed)
    with start("127.0.0.1:0", echo.address, weather) as link, connect(link) as client:

        def send() -> None:
            place = 0
            while place < len(data):
                size = source.choice([1, 7, 300, 5000, 70_000])
                client.sendall(data[place : place + size])
                place += size
            client.shutdown(socket.SHUT_WR)

        threading.Thread(target=send, daemon=True).start()
        assert receive(client, len(data) + 1) == data
        until(lambda: link.connections == 0)
        assert link.passed_bytes == (len(data), len(data))


def test_a_round_trip_is_never_shorter_than_the_set_delay(echo: Echo) -> None:
    """20 ms forward and 30 ms backward make at least 50 ms, whatever the machine does."""
    weather = Conditions(forward=Path(delay_s=0.02), backward=Path(delay_s=0.03))
    with start("127.0.0.1:0", echo.address, weather) as link, connect(link) as client:
        assert min(round_trip_s(client) for _ in range(10)) >= 0.05


def test_changed_conditions_hold_for_what_comes_next(echo: Echo) -> None:
    """set() lengthens the round trips of an open connection."""
    with start("127.0.0.1:0", echo.address) as link, connect(link) as client:
        round_trip_s(client)
        link.set(Conditions.symmetric(0.2))
        assert round_trip_s(client) >= 0.2


def test_pipelined_messages_do_not_wait_for_each_other(echo: Echo) -> None:
    """Fifty messages under way at once take one round trip, not fifty: the delay is per chunk, not per turn."""
    with start("127.0.0.1:0", echo.address, Conditions.symmetric(0.4)) as link, connect(link) as client:
        began = time.monotonic()
        for index in range(50):
            client.sendall(bytes([index]))
        assert receive(client, 50) == bytes(range(50))
        assert 0.4 <= time.monotonic() - began < 50 * 0.4 / 2


def test_a_partition_blocks_and_heals_without_loss(echo: Echo) -> None:
    """Nothing passes while the link is down; all of it passes afterwards, over the same connection."""
    with start("127.0.0.1:0", echo.address) as link, connect(link) as client:
        round_trip_s(client)
        link.partition()
        before = link.passed_bytes
        client.sendall(b"kept")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(4)
        assert link.passed_bytes == before
        client.settimeout(WAIT_S)
        link.heal()
        assert receive(client, 4) == b"kept"


def test_a_connection_made_during_a_partition_waits_for_its_end(echo: Echo) -> None:
    """The target hears of a new connection only when the link is up again."""
    with start("127.0.0.1:0", echo.address) as link:
        link.partition()
        with connect(link) as client:
            client.sendall(b"late")
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(4)
            assert echo.open == []
            client.settimeout(WAIT_S)
            link.heal()
            assert receive(client, 4) == b"late"


def test_a_cut_closes_both_ends_and_new_connections_work(echo: Echo) -> None:
    """cut() is a dropped connection, not a dead link; a partition with cut holds the next one back."""
    with start("127.0.0.1:0", echo.address) as link:
        with connect(link) as client:
            round_trip_s(client)
            link.cut()
            assert client.recv(1) == b""
            until(lambda: echo.open[0].fileno() == -1)
        with connect(link) as client:
            round_trip_s(client)
            link.partition(cut=True)
            assert client.recv(1) == b""
        link.heal()
        with connect(link) as client:
            round_trip_s(client)


def test_each_half_closes_on_its_own(echo: Echo) -> None:
    """After the client closed its sending half the answer still comes, then the end."""
    with start("127.0.0.1:0", echo.address, Conditions.symmetric(0.05)) as link, connect(link) as client:
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)
        assert receive(client, 100) == b"last words"
        until(lambda: link.connections == 0)


def test_an_end_that_nobody_is_left_to_hear_breaks_the_connection() -> None:
    """The other end may reset the connection in the same moment in which it is told that no more comes."""

    class Gone(asyncio.Transport):
        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            """Nothing is written."""

        def resume_reading(self) -> None:
            """Nothing is read."""

        def write_eof(self) -> None:
            raise OSError(errno.ENOTCONN, "not connected")

    async def ended(own: socket.socket) -> list[bool]:
        clean: list[bool] = []
        there, back = (Pipe(DelayLaw(Conditions(), Path(), ""), 0.0, clean.append) for _ in range(2))
        there.back = back
        for pipe in (there, back):
            pipe.connection_made(Gone({"socket": own}))
        there.hold(False)
        assert there.eof_received()
        return clean

    with socket.socket() as own:
        assert asyncio.run(ended(own)) == [False]


def test_nothing_waits_for_an_acknowledgement(echo: Echo) -> None:
    """Small messages leave at once on both ends: held back, one could be 40 ms late on a link that says 0."""
    with start("127.0.0.1:0", echo.address) as link, connect(link) as client:
        round_trip_s(client)
        (connection,) = link._connections
        for pipe in (connection.forward, connection.backward):
            end = pipe.source.get_extra_info("socket")
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_many_connections_run_side_by_side(echo: Echo) -> None:
    """Forty clients get their own bytes back."""
    with start("127.0.0.1:0", echo.address, Conditions.symmetric(0.02)) as link:
        clients = [connect(link) for _ in range(40)]
        for index, client in enumerate(clients):
            client.sendall(bytes([index]) * 100)
        assert [receive(client, 100) for client in clients] == [bytes([index]) * 100 for index in range(40)]
        for client in clients:
            client.close()
        until(lambda: link.connections == 0)


def test_an_absent_target_closes_the_connection_with_one_log_line() -> None:
    """The client sees the end at once and the log says why."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        target = f"127.0.0.1:{free.getsockname()[1]}"
    with structlog.testing.capture_logs() as logs, start("127.0.0.1:0", target) as link, connect(link) as client:
        assert client.recv(1) == b""
        until(lambda: len(logs) == 1)
    assert [line["event"] for line in logs] == ["target not reachable, connection closed"]
    assert logs[0]["target"] == target


def test_a_full_buffer_stops_the_sender(echo: Echo) -> None:
    """While the link is down a sender gets rid of a bounded number of bytes only."""
    with start("127.0.0.1:0", echo.address) as link, connect(link) as client:
        round_trip_s(client)
        link.partition()
        client.settimeout(1.0)
        sent = 0
        try:
            while sent < 4 * BUFFER_BYTES:
                sent += client.send(b"x" * 2**20)
        except TimeoutError:
            assert sent >= BUFFER_BYTES
            return
        pytest.fail("the sender never had to wait")


def test_a_sender_that_had_to_wait_goes_on_when_the_link_is_up(echo: Echo) -> None:
    """More than the buffer holds, sent while the link is down, arrives whole after it."""
    size = 2 * BUFFER_BYTES
    with start("127.0.0.1:0", echo.address) as link, connect(link) as client:
        round_trip_s(client)
        link.partition()
        sender = threading.Thread(target=client.sendall, args=(b"x" * size,), daemon=True)
        sender.start()
        (connection,) = link._connections
        until(lambda: connection.forward._waiting_bytes >= BUFFER_BYTES)
        link.heal()
        assert len(receive(client, size)) == size
        sender.join(WAIT_S)


def test_close_ends_everything_even_a_waiting_connection(echo: Echo) -> None:
    """close() during a partition closes open and waiting connections, stops listening and may be repeated."""
    link = start("127.0.0.1:0", echo.address)
    with connect(link) as client:
        round_trip_s(client)
        link.partition()
        with connect(link) as waiting:
            link.close()
            link.close()
            assert client.recv(1) == b""
            assert waiting.recv(1) == b""
    assert link.connections == 0
    with pytest.raises(ConnectionRefusedError):
        connect(link)
