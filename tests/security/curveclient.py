"""A CURVE client that writes its frames itself (RFC 23, RFC 26), so that it can send what libzmq never would."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import zmq  # whose libsodium is used
from zmq.utils.z85 import decode

from hocket_bus.trust.keys import Keys

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
KEY, MAC, NONCE = 32, 16, 24
COMMAND, LARGE = 4, 2
WAIT_S = 1.0  # libzmq says nothing to whom it is to let in later, and hangs up after a while


@cache
def sodium() -> ctypes.CDLL:
    """The library that libzmq has loaded."""
    assert zmq.has("curve")
    lines = Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in lines if "libsodium" in line))


def shared(theirs: bytes, own: bytes) -> bytes:
    """The key that two key pairs have in common."""
    key = ctypes.create_string_buffer(KEY)
    assert sodium().crypto_box_beforenm(key, theirs, own) == 0
    return key.raw


def seal(text: bytes, nonce: bytes, key: bytes) -> bytes:
    """The box of a text."""
    assert len(nonce) == NONCE
    envelope = ctypes.create_string_buffer(len(text) + MAC)
    assert sodium().crypto_box_easy_afternm(envelope, text, ctypes.c_ulonglong(len(text)), nonce, key) == 0
    return envelope.raw


def unseal(envelope: bytes, nonce: bytes, key: bytes) -> bytes:
    """The text of a box."""
    text = ctypes.create_string_buffer(len(envelope) - MAC)
    assert sodium().crypto_box_open_easy_afternm(text, envelope, ctypes.c_ulonglong(len(envelope)), nonce, key) == 0
    return text.raw


def framed(body: bytes, flags: int = 0) -> bytes:
    """A frame as it stands on the wire."""
    if len(body) < 256:
        return bytes((flags, len(body))) + body
    return bytes((flags | LARGE,)) + len(body).to_bytes(8, "big") + body


class CurveClient:
    """One connection, its handshake done, as a socket of `kind`."""

    def __init__(self, at: tuple[str, int], keys: Keys, server: str, kind: bytes = b"DEALER") -> None:
        """`keys` are the client's own, `server` is the server's public key. Raises OSError where it is not let in."""
        self.raw = socket.create_connection(at, WAIT_S)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = 0
        self._own = decode(keys.own.public), decode(keys.own.secret)
        self._server = decode(server)
        public, secret = ctypes.create_string_buffer(KEY), ctypes.create_string_buffer(KEY)
        sodium().crypto_box_keypair(public, secret)
        self._public, self._secret = public.raw, secret.raw
        try:
            self.raw.sendall(GREETING)
            self._exactly(len(GREETING))
            self._key = self._shake_hands(kind)
        except BaseException:
            self.raw.close()
            raise

    def message(self, body: bytes, *, more: bool) -> bytes:
        """One frame of a message as it stands on the wire; to be sent in the order in which they were made."""
        nonce = self._nonce()
        return framed(b"\x07MESSAGE" + nonce + seal(bytes((more,)) + body, b"CurveZMQMESSAGEC" + nonce, self._key))

    def read(self) -> bytes:
        """The next frame that comes."""
        flags = self._exactly(1)[0]
        size = int.from_bytes(self._exactly(8 if flags & LARGE else 1), "big")
        return self._exactly(size)

    def _shake_hands(self, kind: bytes) -> bytes:
        nonce = self._nonce()
        hello = seal(bytes(64), b"CurveZMQHELLO---" + nonce, shared(self._server, self._secret))
        self.raw.sendall(framed(b"\x05HELLO\x01\x00" + bytes(72) + self._public + nonce + hello, COMMAND))
        welcome = self.read()
        assert welcome[:8] == b"\x07WELCOME", welcome
        opened = unseal(welcome[24:], b"WELCOME-" + welcome[8:24], shared(self._server, self._secret))
        theirs, cookie = opened[:KEY], opened[KEY:]
        key = shared(theirs, self._secret)
        long = os.urandom(16)
        vouch = seal(self._public + self._server, b"VOUCH---" + long, shared(theirs, self._own[1]))
        metadata = b"\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
        nonce = self._nonce()
        envelope = seal(self._own[0] + long + vouch + metadata, b"CurveZMQINITIATE" + nonce, key)
        self.raw.sendall(framed(b"\x08INITIATE" + cookie + nonce + envelope, COMMAND))
        ready = self.read()
        if ready[:6] != b"\x05READY":
            raise ConnectionError(ready[:6])
        return key

    def _nonce(self) -> bytes:
        self._number += 1
        return self._number.to_bytes(8, "big")

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            piece = self.raw.recv(size - len(got))
            if not piece:
                raise ConnectionError("it hung up")
            got += piece
        return got


@contextmanager
def connected(at: tuple[str, int], keys: Keys, server: str, kind: bytes = b"DEALER") -> Iterator[CurveClient]:
    """One connection, closed in the end."""
    client = CurveClient(at, keys, server, kind)
    try:
        yield client
    finally:
        client.raw.close()
