"""The digest that says which answer tokens a draft was conditioned on: chained, 64 bits."""

from __future__ import annotations

from hashlib import blake2b


class PrefixChain:
    """Digests of every prefix of a growing, and sometimes cut, list of token ids, or of words' numbers."""

    def __init__(self, session: bytes, seed: int) -> None:
        self.ids: list[int] = []
        self._digests = [_hash(session + seed.to_bytes(8, "big"))]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def digest(self) -> int:
        """Digest of all tokens."""
        return self._digests[-1]

    def at(self, length: int) -> int:
        """Digest of the first `length` tokens."""
        return self._digests[length]

    def append(self, token: int) -> None:
        """Add one token."""
        self.ids.append(token)
        self._digests.append(_hash(self.digest.to_bytes(8, "big") + _bytes(token)))

    def cut(self, length: int) -> None:
        """Keep the first `length` tokens."""
        del self.ids[length:]
        del self._digests[length + 1 :]


def _bytes(token: int) -> bytes:
    """Return a token's four bytes, or a word's number, which no other word or token has."""
    return token.to_bytes(max(4, (token.bit_length() + 7) // 8), "big")


def _hash(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
