"""The kind of dialogue of a session: by its unit, and by its way to draw, of which a paper's figures need one more."""

from __future__ import annotations

from typing import ClassVar

from hocket_bus import messages as wire
from hocket_bus.messages import Begin

from ..engine.text.words import END, number_of
from .dialogue import Dialogue, DraftMessages
from .exchange import word_messages
from .exchange.exchange import Exchange
from .exchange.session_terms import Draft, Law
from .exchange.word_exchange import WordExchange, proposal_of
from .paper.aggregator_dialogue import AggregatorDialogue


class WordMessages(DraftMessages):
    """The words of one session's drafts."""

    def payload(self, draft: Draft) -> tuple[int, bytes]:
        """Return the token and the payload of a draft."""
        return 0, word_messages.encode(proposal_of(draft.distribution))

    def _law(self, message: wire.Draft) -> tuple[int, Law]:
        proposal = word_messages.decode(message.payload)
        return proposal.word, proposal


class WordDialogue(Dialogue):
    """The state that one side keeps of its dialogue with all others, in words."""

    exchange_type: ClassVar[type[Exchange]] = WordExchange
    messages_type: ClassVar[type[DraftMessages]] = WordMessages
    ends_with: ClassVar[frozenset[int]] = frozenset((number_of(END),))


def dialogue_type(begin: Begin) -> type[Dialogue]:
    """Return the kind of dialogue that all parties of this session hold."""
    if begin.unit == "word":
        return WordDialogue
    return AggregatorDialogue if begin.method == "independent" else Dialogue
