"""The drafts of a session of words as they travel: a word and its probability."""

from __future__ import annotations

import struct

from hocket_bus import messages as wire
from hocket_bus.errors import BadMessage

from ...engine.text.word_draw import SCALE, Proposal
from ...engine.text.words import word_of
from ...serving.stream.targets import number_sent
from .draft_messages import DraftMessages
from .session_terms import Draft, Law
from .word_exchange import proposal_of

_COUNT = struct.Struct(">Q")


class WordMessages(DraftMessages):
    """The words of one session's drafts."""

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
    return Proposal(number_sent(data[_COUNT.size :]), count)
