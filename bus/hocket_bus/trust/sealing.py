"""Sealed envelopes (boxes) that two machines send through a third one, which can neither read nor change them.

This module knows no socket. The handshake is that of Noise IK (revision 34, 7.5) in its Diffie-Hellmans, over X25519.
Keyed BLAKE2b chains shared and public values, and XChaCha20-Poly1305 seals (PyNaCl, which the daemon's extra installs).

- The opener knows the answerer's long-lived key. Until it hears from the answerer, each of its envelopes has its
  ephemeral key in clear and its long-lived key sealed under es, and is sealed under es and ss.
- The answerer's envelopes are sealed under ee and se as well. Until it hears that the opener has its ephemeral key,
  each has that key in front.
- From then on an envelope has nothing in front. So any envelope may be lost, the first ones too.

What it gives, where X25519 is hard to break and BLAKE2b is a random function:

- Only a holder of one of the two long-lived keys can make an envelope that opens, or open one. Nobody else learns who
  the opener is.
- An envelope opens at most once, in one direction, after the one that was sealed before it, in a channel of the same
  context between the same two keys. An envelope that is refused changes nothing.
- Whoever records everything and steals both long-lived keys later cannot open an envelope that is sealed under ee, once
  both ends have dropped the channel. The opener's envelopes before the first answer lack that: they are secret as long
  as the answerer's long-lived key is.
- Whoever has stolen the answerer's key can open a channel to it in anybody's name, and can then neither read an answer
  nor seal an envelope after one.
- A recorded opening can be answered again. It leads to another channel, which nobody continues: one context is to have
  one channel.

Lengths, times and the number of envelopes are not hidden.
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
    """A machine's own long-lived X25519 key; its secret half never leaves the machine."""

    def __init__(self, secret: bytes) -> None:
        """Derive the public key from `secret`, 32 random bytes."""
        self._secret = secret
        self.public = crypto_scalarmult_base(secret)

    def __repr__(self) -> str:
        """Return a text without the secret, which must not get into a log."""
        return f"SealingKey({self.public.hex()})"

    @classmethod
    def of_secret(cls, secret: str) -> SealingKey:
        """Derive the sealing key that belongs to the Z85 secret of keys.py; neither secret reveals the other."""
        return cls(hashlib.blake2b(key=secret.encode(), digest_size=KEY_BYTES, person=_OF_SECRET).digest())

    @classmethod
    def fresh(cls) -> SealingKey:
        """Return a new random key, for a machine without key files and for a channel's ephemeral key."""
        return cls(os.urandom(KEY_BYTES))

    def shared(self, peer: bytes) -> bytes:
        """Return the Diffie-Hellman secret of this key and a public one. Raises BadMessage if that one is none."""
        if len(peer) != KEY_BYTES:
            raise BadMessage("a sealing key of the wrong length")
        try:
            return crypto_scalarmult(self._secret, peer)  # refuses a result that is all zero
        except CryptoError as error:
            raise BadMessage("a sealing key that is of small order") from error


@dataclass(slots=True)
class _Seal:
    """A key for one direction, and the number of envelopes it has sealed or, at the other end, opened."""

    key: bytes = field(repr=False)
    counter: int = 0

    def seal(self, front: bytes, text: bytes) -> bytes:
        """Seal `text` in an envelope with `front` in clear. No two envelopes have the same counter."""
        clear = front + self.counter.to_bytes(_COUNTER_BYTES, "big")
        self.counter += 1
        return clear + _sealed(self.key, clear[-_COUNTER_BYTES:], clear, text)

    def unseal(self, front: bytes, envelope: bytes) -> bytes:
        """Return the content of an envelope with this front. Raises BadMessage, and then changes nothing."""
        body = len(front) + _COUNTER_BYTES
        counter = envelope[len(front) : body]
        if int.from_bytes(counter, "big") < self.counter:
            raise BadMessage("a sealed box that is a replay or too old")
        text = _unsealed(self.key, counter, envelope[:body], envelope[body:])
        self.counter = int.from_bytes(counter, "big") + 1
        return text


@dataclass(frozen=True, slots=True)
class _Opened:
    """State that the opener keeps until it hears from the answerer."""

    own: SealingKey
    ephemeral: SealingKey
    chain: bytes = field(repr=False)


class Channel:
    """A sealed channel with one peer, in one context. For one thread."""

    def __init__(
        self, peer: bytes, front: bytes, sealing: _Seal, unsealing: dict[bytes, _Seal], opened: _Opened | None = None
    ) -> None:
        """Set up a channel; `unsealing` has a key for each front, and `opened` is set until the answerer replies."""
        self.peer = peer
        self._front = front
        self._sealing = sealing
        self._unsealing = unsealing
        self._opened = opened

    @classmethod
    def opening(cls, own: SealingKey, peer: bytes, context: bytes) -> Channel:
        """Open a channel to the holder of `peer`, 32 bytes, which answers it with the same context.

        Raises BadMessage if `peer` is no public key.
        """
        ephemeral = SealingKey.fresh()
        chain = _begun(context, peer, ephemeral.public, ephemeral.shared(peer))
        front = _OPENING + ephemeral.public
        front += _sealed(_key(chain, b"who opens"), bytes(_COUNTER_BYTES), front, own.public)
        chain = _mixed(chain, own.shared(peer), own.public)
        return cls(peer, front, _Seal(_key(chain, b"opening")), {}, _Opened(own, ephemeral, chain))

    @classmethod
    def answering(cls, own: SealingKey, envelope: bytes, context: bytes) -> tuple[Channel, bytes]:
        """Return the channel that an envelope opens, whichever of the opener's first it is, and the envelope's content.

        Raises BadMessage. The caller must check whose key `peer` is, and whether it may open a channel.
        """
        front = _front(envelope)
        if front[:1] != _OPENING:
            raise BadMessage("a sealed box that opens no channel")
        clear = front[:-_SEALED_KEY_BYTES]
        chain = _begun(context, own.public, clear[1:], own.shared(clear[1:]))
        peer = _unsealed(_key(chain, b"who opens"), bytes(_COUNTER_BYTES), clear, front[len(clear) :])
        chain = _mixed(chain, own.shared(peer), peer)
        opening = _Seal(_key(chain, b"opening"))
        text = opening.unseal(front, envelope)
        ephemeral = SealingKey.fresh()
        chain = _settled(chain, ephemeral.shared(clear[1:]), ephemeral.shared(peer), ephemeral.public)
        unsealing = {front: opening, _SETTLED: _Seal(_key(chain, b"to the answerer"))}
        return cls(peer, _ANSWERING + ephemeral.public, _Seal(_key(chain, b"to the opener")), unsealing), text

    def seal(self, text: bytes) -> bytes:
        """Seal `text` for the peer: OVERHEAD_BYTES longer, and up to 80 more until both ends have heard each other."""
        return self._sealing.seal(self._front, text)

    def unseal(self, envelope: bytes) -> bytes:
        """Return the content of an envelope from the peer.

        Raises BadMessage for one that is forged, altered, of another channel, repeated, or older than the last opened.
        """
        front = _front(envelope)
        if self._opened is not None:
            return self._answered(self._opened, front, envelope)
        seal = self._unsealing.get(front)
        if seal is None:
            raise BadMessage("a sealed box of another channel")
        text = seal.unseal(front, envelope)
        if front == _SETTLED:  # the peer has heard this end
            self._front, self._unsealing = _SETTLED, {_SETTLED: seal}
        return text

    def _answered(self, opened: _Opened, front: bytes, envelope: bytes) -> bytes:
        """Open the first envelope that comes back. The channel's keys change only if it opens."""
        if front[:1] != _ANSWERING:
            raise BadMessage("a sealed box that answers no opening")
        theirs = front[1:]
        chain = _settled(opened.chain, opened.ephemeral.shared(theirs), opened.own.shared(theirs), theirs)
        seal = _Seal(_key(chain, b"to the opener"))
        text = seal.unseal(front, envelope)
        self._opened = None
        self._front, self._sealing = _SETTLED, _Seal(_key(chain, b"to the answerer"))
        self._unsealing = {front: seal, _SETTLED: seal}
        return text


def _front(envelope: bytes) -> bytes:
    """Return what precedes an envelope's counter: its kind, and the keys of that kind. Raises BadMessage."""
    length = _FRONT_BYTES.get(envelope[:1], len(envelope))
    if len(envelope) < length + _COUNTER_BYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES:
        raise BadMessage("not a sealed box")
    return envelope[:length]


def _begun(context: bytes, answerer: bytes, ephemeral: bytes, es: bytes) -> bytes:
    return _mixed(_mixed(b"", _PROTOCOL, context, answerer), es, ephemeral)


def _settled(chain: bytes, ee: bytes, se: bytes, ephemeral: bytes) -> bytes:
    return _mixed(chain, ee, se, ephemeral)


def _mixed(chain: bytes, *parts: bytes) -> bytes:
    """Return the next link of a chain, 64 bytes, which depends on all parts, their lengths and their order."""
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
