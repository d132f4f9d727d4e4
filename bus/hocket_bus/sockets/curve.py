"""CURVE on the sockets: both ends know each other's public keys, or there is no connection (ZeroMQ RFC 26)."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import zmq
from zmq.utils.monitor import parse_monitor_message

from hocket_bus.errors import HocketError, Unavailable, Untrusted
from hocket_bus.messages import Role
from hocket_bus.trust import zap
from hocket_bus.trust.keys import KeyPair, Keys, fingerprint

MONITORED = (
    zmq.EVENT_CONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)

GONE = "?"  # no peer's name


def new_key_pair() -> KeyPair:
    """Return a fresh key pair. Its public half begins with no dash, so that it can be typed as an argument."""
    while True:
        public, secret = zmq.curve_keypair()
        if not public.startswith(b"-"):
            return KeyPair(public.decode(), secret.decode())


def guard(socket: zmq.Socket[bytes], keys: Keys, server: str | None) -> None:
    """Make a socket speak CURVE: as a server, or to the server that must have the public key `server`."""
    socket.curve_secretkey = keys.own.secret.encode()
    socket.curve_publickey = keys.own.public.encode()
    if server is None:
        socket.curve_server = True
        socket.set(zmq.ZAP_DOMAIN, zap.DOMAIN)
        socket.set(zmq.ZAP_ENFORCE_DOMAIN, 1)  # without it and without a handler, everybody would be let in
    else:
        socket.curve_serverkey = server.encode()


def open_judge(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """Open the socket at which libzmq asks who may connect; answer it with `zap.answer`."""
    socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    socket.bind(zap.ENDPOINT)
    return socket


def user_of(frame: zmq.Frame) -> str:
    """Return the name under which the sender's key was allowed; GONE if its connection is broken."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return GONE


def connected(frames: Sequence[bytes]) -> bool:
    """Tell whether an event of a connection's monitor reports a completed handshake."""
    return int(parse_monitor_message(list(frames))["event"]) == zmq.EVENT_HANDSHAKE_SUCCEEDED


def doubtful(frames: Sequence[bytes]) -> bool:
    """Tell whether the other end just hung up in the handshake: it may lack the key, or not encrypt."""
    event = parse_monitor_message(list(frames))
    return (event["event"], int(event["value"])) == (zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, errno.EPIPE)


def unencrypted(endpoint: str) -> Untrusted:
    """Return the error for a peer that does not encrypt."""
    return Untrusted(f"{endpoint} does not use encryption", "is hocket listening there, or another program?")


def verdict(frames: Sequence[bytes], endpoint: str, keys: Keys | None, role: Role) -> HocketError:
    """Return the error that an event of a connection's monitor means to an end of this role, with a remedy."""
    event = parse_monitor_message(list(frames))
    kind = int(event["event"])
    if kind == zmq.EVENT_HANDSHAKE_FAILED_AUTH and keys is not None:
        return Untrusted(
            f"{endpoint} does not allow this machine's key {fingerprint(keys.own.public)}",
            f"there, run: hocket keys allow NAME '{keys.own.public}'" + (" --may ask" if role == "client" else ""),
        )
    if kind == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
        return unencrypted(endpoint)
    if doubtful(frames):
        return Untrusted(
            f"{endpoint} does not have the key known here",
            "compare the fingerprints: hocket keys show there, hocket keys list here",
        )
    if kind == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        return Unavailable(f"the authentication at {endpoint} does not answer", "restart the daemon there")
    return Unavailable(f"the connection to {endpoint} broke", "is the daemon there running?")
