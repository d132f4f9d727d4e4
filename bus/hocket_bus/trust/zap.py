"""Authentication of connections: one answer to one request of ZeroMQ's protocol (RFC 27). Pure; knows no socket.

Fails closed: an unknown key is refused (400) for good, and so is one that may only be dialled. Whatever goes wrong here
is answered "later" (300), after which the other end tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from .keys import Keys, fingerprint, z85

ENDPOINT, DOMAIN = "inproc://zeromq.zap.01", b"hocket"
_VERSION = b"1.0"

log = structlog.get_logger(__name__)


def answer(frames: Sequence[bytes], keys: Keys) -> list[bytes]:
    """Return the reply's frames; its user id is the name under which the peer's key is allowed."""
    request = frames[1] if len(frames) > 1 else b""
    try:
        return _judged(request, frames, keys)
    except Exception:
        log.exception("a connection could not be judged")
        return _later(request)


def let_in(reply: list[bytes], lets_in: Callable[[str], bool]) -> list[bytes]:
    """Return the same reply, or "later" for a key that is allowed, but that `lets_in` refuses now."""
    _, request, status, _, user, _ = reply
    return reply if status != b"200" or lets_in(user.decode()) else _later(request)


def _judged(request: bytes, frames: Sequence[bytes], keys: Keys) -> list[bytes]:
    version, _, domain, address, _, mechanism, *credentials = frames
    if (version, domain, mechanism) != (_VERSION, DOMAIN, b"CURVE") or len(credentials) != 1:
        return _refused(request, b"CURVE is required")
    key = z85(credentials[0])
    name = keys.name_of(key)
    if name is None:
        return _refused(request, _not_let_in(key, address.decode("ascii", "replace"), keys))
    return [_VERSION, request, b"200", b"OK", name.encode(), b""]


def _not_let_in(key: str, address: str, keys: Keys) -> bytes:
    """Log a refused key; return the reason for the other end."""
    name = keys.known_as(key)
    if name is None:
        allow = f"hocket keys allow NAME '{key}'"
        log.warning("refused an unknown key", address=address, fingerprint=fingerprint(key), allow=allow)
        return b"this key is not allowed"
    log.warning("refused a key that may only be dialled", address=address, name=name, allow=keys.giving(name, "ask"))
    return b"this key may be dialled only"


def _later(request: bytes) -> list[bytes]:
    return [_VERSION, request, b"300", b"try again", b"", b""]


def _refused(request: bytes, why: bytes) -> list[bytes]:
    return [_VERSION, request, b"400", why, b"", b""]
