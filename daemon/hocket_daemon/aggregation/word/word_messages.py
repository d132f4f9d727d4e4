"""The messages of a session of words: a draft's payload is a word and its probability, a target is a list of words."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hocket_bus import messages as wire
from hocket_bus.errors import BadMessage, BadRequest

from ...engine.sampling.word_draw import SCALE, Proposal
from ...engine.text.words import CAP, number_of, readable, word_of
from ..draft_messages import DraftMessages
from ..exchange.session_terms import Draft, Law
from .word_exchange import proposal_of

_COUNT = struct.Struct(">Q")


class WordMessages(DraftMessages):
    """The words of one session's drafts and targets."""

    def targets(self, message: wire.Target) -> list[int]:
        """Return the numbers of a target's words. Raises BadRequest for what is no word."""
        return [_number(word) for word in message.words]

    def target(self, steps: Sequence[int]) -> tuple[list[int], list[bytes]]:
        """Return the ids and the words of a target."""
        return [], [word_of(number) for number in steps]

    def payload(self, draft: Draft) -> tuple[int, bytes]:
        """Return the token and the payload of a draft."""
        return 0, encode(proposal_of(draft.distribution))

    def _law(self, message: wire.Draft) -> tuple[int, Law]:
        proposal = decode(message.payload)
        return proposal.word, proposal


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
    return Proposal(_number(data[_COUNT.size :]), count)


def _number(word: bytes) -> int:
    if len(word) > CAP or readable(word) != word:
        raise BadRequest("the other side sent what is no word", "install the same hocket on both ends")
    return number_of(word)
