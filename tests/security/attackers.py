"""What an allowed machine with ill will sends, for ever: each attack runs in a process of its own until it is ended.

`python attackers.py ATTACK HOST PORT KEYS SERVER_KEY`; KEYS is the folder of the attacker's keys.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from curveclient import CurveClient

from hocket_bus.messages import Cancel, Done, Hello, Message, Ping
from hocket_bus.trust.keys import Keys
from hocket_bus.wire import encode

MEGABYTE = bytes(1_000_000)  # encrypted, it is just below the largest frame
PAUSE_S = 0.01  # before an end that was refused comes again


class Attacker:
    """A machine that attacks the server at `at`."""

    def __init__(self, at: tuple[str, int], folder: Path, server: str) -> None:
        self._at = at
        self._keys = Keys(folder)
        self._server = server

    def dial(self, kind: bytes = b"DEALER", port: int = 0) -> CurveClient:
        """A connection, as soon as one is to be had."""
        while True:
            with suppress(OSError):
                return CurveClient((self._at[0], self._at[1] + port), self._keys, self._server, kind)
            time.sleep(PAUSE_S)

    def endless(self, fragments: Callable[[CurveClient], Iterator[bytes]], connections: int = 1) -> None:
        """Send pieces over so many connections in turn; a new one for each that is ended."""
        clients = [self.dial() for _ in range(connections)]
        streams = [fragments(client) for client in clients]
        while True:
            for number, stream in enumerate(streams):
                try:
                    clients[number].raw.sendall(next(stream))
                except OSError:
                    clients[number].raw.close()
                    clients[number] = self.dial()
                    streams[number] = fragments(clients[number])


def said(client: CurveClient, message: Message) -> bytes:
    """A whole message as it stands on the wire."""
    return written(client, encode(message))


def written(client: CurveClient, frames: list[bytes]) -> bytes:
    """The same for any frames."""
    return b"".join(client.message(frame, more=number < len(frames)) for number, frame in enumerate(frames, 1))


def one_message_of_tiny_frames(client: CurveClient) -> Iterator[bytes]:
    """It never ends; the frames are empty."""
    while True:
        yield b"".join(client.message(b"", more=True) for _ in range(1_000))


def one_message_of_large_frames(client: CurveClient) -> Iterator[bytes]:
    """It never ends, and each frame is as large as one may be."""
    while True:
        yield client.message(MEGABYTE, more=True)


def hello_then_one_message(client: CurveClient) -> Iterator[bytes]:
    """The same behind a greeting, so that it is known whose it is."""
    yield said(client, Hello(role="client"))
    yield from one_message_of_large_frames(client)


def large_messages(client: CurveClient) -> Iterator[bytes]:
    """Each is whole, and none that a server takes."""
    header = encode(Cancel(request=bytes(16)))[0]
    while True:
        yield written(client, [header, MEGABYTE])


def answers(client: CurveClient) -> Iterator[bytes]:
    """Messages of 131 KB that take long to decode, and that no server takes."""
    ids = [70_000] * 26_000
    done = Done(
        request=bytes(16), seq=0, finish="eos", token_ids=ids, text="", ttft_s=0, ms_per_token=0, mode="", seed=0
    )
    while True:
        yield said(client, done)


def echoes(client: CurveClient) -> Iterator[bytes]:
    """Pings, as many as there can be."""
    while True:
        yield b"".join(said(client, Ping(sent_s=0.0)) for _ in range(100))


def garbage(client: CurveClient) -> Iterator[bytes]:
    """What is no message at all."""
    while True:
        yield b"".join(client.message(b"garbage", more=False) for _ in range(100))


def mute(attacker: Attacker, at: tuple[str, int]) -> None:
    """Connections that say nothing: 500 at a time, a new one for each that is ended."""
    held: list[socket.socket] = []
    while True:
        with suppress(OSError):
            held.append(socket.create_connection(at, 1.0))
        if len(held) > 500:
            held.pop(0).close()
        time.sleep(0.001)


def handshakes(attacker: Attacker, at: tuple[str, int]) -> None:
    """Connections that shake hands, say nothing and leave."""
    while True:
        attacker.dial().raw.close()


def topics(attacker: Attacker, at: tuple[str, int], length: int = 16) -> None:
    """Subscriptions, each to another topic."""
    while True:
        client = attacker.dial(b"SUB", port=1)
        with suppress(OSError):
            while True:
                wanted = (b"\x01" + os.urandom(length) for _ in range(100))
                client.raw.sendall(b"".join(client.message(topic, more=False) for topic in wanted))


def long_topics(attacker: Attacker, at: tuple[str, int]) -> None:
    """The same with topics of 64 KiB, of which libzmq keeps every byte many times."""
    topics(attacker, at, 1 << 16)


STREAMS = (one_message_of_tiny_frames, one_message_of_large_frames, hello_then_one_message, large_messages, answers)
STREAMS += (echoes, garbage)
ATTACKS = {attack.__name__: attack for attack in (*STREAMS, mute, handshakes, topics, long_topics)}
CONNECTIONS = 8


def main(attack: str, host: str, port: str, folder: str, server: str) -> None:
    """Until it is ended. It goes behind all others here, as an attacker has a machine of his own."""
    os.nice(10)
    at = (host, int(port))
    attacker = Attacker(at, Path(folder), server)
    run = ATTACKS[attack]
    if run in STREAMS:
        attacker.endless(run, CONNECTIONS)  # type: ignore[arg-type]
    else:
        run(attacker, at)  # type: ignore[operator]


if __name__ == "__main__":
    main(*sys.argv[1:])
