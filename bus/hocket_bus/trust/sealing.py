"""Boxes that two machines send through a third one, which can neither read nor change them. Knows no socket.

The handshake is that of Noise IK (revision 34, 7.5) in its Diffie-Hellmans, over X25519; keyed BLAKE2b chains what is
shared and what is public, and XChaCha20-Poly1305 seals (PyNaCl, which the daemon's extra installs).

- The opener knows the answerer's long-lived key. Until it hears from the answerer each of its boxes has its ephemeral
  key in clear and its long-lived key sealed under es, and is sealed under es and ss.
- The answerer's boxes are sealed under ee and se as well. Until it hears that the opener has its ephemeral key, each
  has that key in front.
- From then on a box has nothing in front. So any box may be lost, the first ones too.

What it gives, where X25519 is hard to break and BLAKE2b is a random function:

- Only a holder of one of the two long-lived keys can make a box that opens, or open one. Nobody else learns who opens.
- A box opens at most once, in one direction, behind the one that was sealed before it, in a channel of the same context
  between the same two keys. A box that is refused changes nothing.
- Who records everything and steals both long-lived keys later cannot open a box that is sealed under ee, once both
  ends have dropped the channel. The opener's boxes before the first answer lack that: they are secret as long as the
  answerer's long-lived key is.
- Who has stolen the answerer's key can open a channel to it in anybody's name, and can then neither read an answer nor
  seal a box behind one.
- A recorded opening can be answered again. It leads to another channel, in which nobody goes on: one context is to have
  one channel.

Lengths, times and the number of boxes are not hidden.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_ABYTES,
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    crypto_scalarmult,
    crypto_scalarmult_base,
)
from nacl.exceptions import CryptoError

from ..errors import BadMessage

KEY_BYTES = 32
OVERHEAD_BYTES = 1 + 8 + crypto_aead_xchacha20poly1305_ietf_ABYTES  # of a box once both ends have heard each other
_SEALED_KEY_BYTES = KEY_BYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES
_OPENING, _ANSWERING, _SETTLED = b"\0", b"\1", b"\2"
_FRONT_BYTES = {_OPENING: 1 + KEY_BYTES + _SEALED_KEY_BYTES, _ANSWERING: 1 + KEY_BYTES, _SETTLED: 1}
_COUNTER_BYTES = 8
_PROTOCOL = b"hocket sealed channel 1, IK, X25519, XChaCha20-Poly1305, BLAKE2b"
_OF_SECRET, _CHAIN = b"hocket seal key", b"hocket channel"  # personalisations: no other hash here gives the same


class SealingKey:
    """A machine's own long-lived X25519 key; its secret half leaves it never."""

    def __init__(self, secret: bytes) -> None:
        """`secret` are 32 random bytes."""
        self._secret = secret
        self.public = crypto_scalarmult_base(secret)

    def __repr__(self) -> str:
        """Without the secret, which must not get into a log."""
        return f"SealingKey({self.public.hex()})"

    @classmethod
    def of_secret(cls, secret: str) -> SealingKey:
        """Derive the one that belongs to the Z85 secret of keys.py; neither of the two tells the other's secret."""
        return cls(hashlib.blake2b(key=secret.encode(), digest_size=KEY_BYTES, person=_OF_SECRET).digest())

    @classmethod
    def fresh(cls) -> SealingKey:
        """One that nobody has had before, for a machine without key files and for a channel's ephemeral key."""
        return cls(os.urandom(KEY_BYTES))

    def shared(self, peer: bytes) -> bytes:
        """The Diffie-Hellman of this key and a public one. Raises BadMessage where that one is none."""
        if len(peer) != KEY_BYTES:
            raise BadMessage("a sealing key of the wrong length")
        try:
            return crypto_scalarmult(self._secret, peer)  # refuses a result that is all zero
        except CryptoError as error:
            raise BadMessage("a sealing key that is of small order") from error


@dataclass(slots=True)
class _Seal:
    """A key for one direction, and how many boxes it has sealed or, at the other end, passed."""

    key: bytes = field(repr=False)
    counter: int = 0

    def seal(self, front: bytes, text: bytes) -> bytes:
        """A box with `front` in clear. No two boxes have the same counter."""
        clear = front + self.counter.to_bytes(_COUNTER_BYTES, "big")
        self.counter += 1
        return clear + _sealed(self.key, clear[-_COUNTER_BYTES:], clear, text)

    def unseal(self, front: bytes, box: bytes) -> bytes:
        """What a box with this front holds. Raises BadMessage, and is as before."""
        body = len(front) + _COUNTER_BYTES
        counter = box[len(front) : body]
        if int.from_bytes(counter, "big") < self.counter:
            raise BadMessage("a sealed box that has come before, or too late")
        text = _unsealed(self.key, counter, box[:body], box[body:])
        self.counter = int.from_bytes(counter, "big") + 1
        return text


@dataclass(frozen=True, slots=True)
class _Opened:
    """What the opener keeps until it hears from the answerer."""

    own: SealingKey
    ephemeral: SealingKey
    chain: bytes = field(repr=False)


class Channel:
    """Boxes from and to one peer, in one context. For one thread."""

    def __init__(
        self, peer: bytes, front: bytes, sealing: _Seal, unsealing: dict[bytes, _Seal], opened: _Opened | None = None
    ) -> None:
        """`unsealing` by what a box has in front; `opened` while this end has opened it and heard no answer."""
        self.peer = peer
        self._front = front
        self._sealing = sealing
        self._unsealing = unsealing
        self._opened = opened

    @classmethod
    def opening(cls, own: SealingKey, peer: bytes, context: bytes) -> Channel:
        """A channel to the holder of `peer`, 32 bytes, which answers it with the same context.

        Raises BadMessage where `peer` is no public key.
        """
        ephemeral = SealingKey.fresh()
        chain = _begun(context, peer, ephemeral.public, ephemeral.shared(peer))
        front = _OPENING + ephemeral.public
        front += _sealed(_key(chain, b"who opens"), bytes(_COUNTER_BYTES), front, own.public)
        chain = _mixed(chain, own.shared(peer), own.public)
        return cls(peer, front, _Seal(_key(chain, b"opening")), {}, _Opened(own, ephemeral, chain))

    @classmethod
    def answering(cls, own: SealingKey, box: bytes, context: bytes) -> tuple[Channel, bytes]:
        """The channel that a box opens, whichever of the opener's first it is, and what that box holds.

        Raises BadMessage. Whose `peer` is, and whether it may open a channel, is for the caller to ask.
        """
        front = _front(box)
        if front[:1] != _OPENING:
            raise BadMessage("a sealed box that opens no channel")
        clear = front[:-_SEALED_KEY_BYTES]
        chain = _begun(context, own.public, clear[1:], own.shared(clear[1:]))
        peer = _unsealed(_key(chain, b"who opens"), bytes(_COUNTER_BYTES), clear, front[len(clear) :])
        chain = _mixed(chain, own.shared(peer), peer)
        opening = _Seal(_key(chain, b"opening"))
        text = opening.unseal(front, box)
        ephemeral = SealingKey.fresh()
        chain = _settled(chain, ephemeral.shared(clear[1:]), ephemeral.shared(peer), ephemeral.public)
        unsealing = {front: opening, _SETTLED: _Seal(_key(chain, b"to the answerer"))}
        return cls(peer, _ANSWERING + ephemeral.public, _Seal(_key(chain, b"to the opener")), unsealing), text

    def seal(self, text: bytes) -> bytes:
        """A box for the peer: OVERHEAD_BYTES more, and up to 80 beyond until both ends have heard each other."""
        return self._sealing.seal(self._front, text)

    def unseal(self, box: bytes) -> bytes:
        """What a box of the peer holds.

        Raises BadMessage for a box that is forged, altered, of another channel, a repetition, or behind a later one.
        """
        front = _front(box)
        if self._opened is not None:
            return self._answered(self._opened, front, box)
        seal = self._unsealing.get(front)
        if seal is None:
            raise BadMessage("a sealed box of another channel")
        text = seal.unseal(front, box)
        if front == _SETTLED:  # the peer has heard this end
            self._front, self._unsealing = _SETTLED, {_SETTLED: seal}
        return text

    def _answered(self, opened: _Opened, front: bytes, box: bytes) -> bytes:
        """What the first box that comes back holds; only once it has opened is the channel another one."""
        if front[:1] != _ANSWERING:
            raise BadMessage("a sealed box that answers no opening")
        theirs = front[1:]
        chain = _settled(opened.chain, opened.ephemeral.shared(theirs), opened.own.shared(theirs), theirs)
        seal = _Seal(_key(chain, b"to the opener"))
        text = seal.unseal(front, box)
        self._opened = None
        self._front, self._sealing = _SETTLED, _Seal(_key(chain, b"to the answerer"))
        self._unsealing = {front: seal, _SETTLED: seal}
        return text


def _front(box: bytes) -> bytes:
    """What stands before a box's counter: its kind, and the keys that its kind has. Raises BadMessage."""
    length = _FRONT_BYTES.get(box[:1], len(box))
    if len(box) < length + _COUNTER_BYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES:
        raise BadMessage("no sealed box")
    return box[:length]


def _begun(context: bytes, answerer: bytes, ephemeral: bytes, es: bytes) -> bytes:
    return _mixed(_mixed(b"", _PROTOCOL, context, answerer), es, ephemeral)


def _settled(chain: bytes, ee: bytes, se: bytes, ephemeral: bytes) -> bytes:
    return _mixed(chain, ee, se, ephemeral)


def _mixed(chain: bytes, *parts: bytes) -> bytes:
    """The next link of a chain, 64 bytes, which knows all parts, their lengths and their order."""
    digest = hashlib.blake2b(key=chain, person=_CHAIN)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _key(chain: bytes, use: bytes) -> bytes:
    return _mixed(chain, use)[:32]


def _sealed(key: bytes, counter: bytes, clear: bytes, text: bytes) -> bytes:
    return crypto_aead_xchacha20poly1305_ietf_encrypt(text, clear, _nonce(counter), key)


def _unsealed(key: bytes, counter: bytes, clear: bytes, sealed: bytes) -> bytes:
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, clear, _nonce(counter), key)
    except CryptoError as error:
        raise BadMessage("a sealed box that does not open with these keys") from error


def _nonce(counter: bytes) -> bytes:
    return counter.rjust(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, b"\0")
