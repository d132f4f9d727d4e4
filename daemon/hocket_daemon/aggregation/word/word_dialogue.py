"""The dialogue of a session of words."""

from __future__ import annotations

from typing import ClassVar

from ...engine.text.words import END, number_of
from ..dialogue import Dialogue
from ..draft_messages import DraftMessages
from ..exchange.exchange import Exchange
from .word_exchange import WordExchange
from .word_messages import WordMessages


class WordDialogue(Dialogue):
    """The state that one side keeps of its dialogue with all others, in words."""

    exchange_type: ClassVar[type[Exchange]] = WordExchange
    messages_type: ClassVar[type[DraftMessages]] = WordMessages
    ends_with: ClassVar[frozenset[int]] = frozenset((number_of(END),))
