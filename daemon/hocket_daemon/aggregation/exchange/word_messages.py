"""The drafts of a session of words as they travel: a word and its probability."""

from __future__ import annotations

import struct

from hocket_bus.errors import BadMessage

from ...engine.text.word_draw import SCALE, Proposal
from ...engine.text.words import word_of
from ...serving.stream.targets import number_sent

_COUNT = struct.Struct(">Q")


def encode(proposal: Proposal) -> bytes:
    """Return the eight bytes of a proposal's count (big-endian), and its word."""
    return _COUNT.pack(proposal.count) + word_of(proposal.word)


def decode(data: bytes) -> Proposal:
    """Return the proposal in `data`. Raises BadMessage unless it is well-formed, BadRequest for what is no word."""
    if len(data) < _COUNT.size:
        raise BadMessage("a word without its probability")
    (count,) = _COUNT.unpack_from(data)
    if not 0 < count <= SCALE:
        raise BadMessage("a probability of a word out of range")
    return Proposal(number_sent(data[_COUNT.size :]), count)
