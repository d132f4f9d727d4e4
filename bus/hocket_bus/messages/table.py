"""The closed table of the protocol: every message, its code, its class of data and the right that it needs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from . import account, aggregation, composition, control, dispatch, documents, graph, group, retrieval, stream
from .types import Conversation, DataClass, Message, Needs

CONVERSATIONS: tuple[Conversation, ...] = (
    control.CONVERSATION,
    stream.CONVERSATION,
    aggregation.CONVERSATION,
    retrieval.CONVERSATION,
    dispatch.CONVERSATION,
    composition.CONVERSATION,
    graph.CONVERSATION,
    documents.CONVERSATION,
    group.CONVERSATION,
    account.CONVERSATION,
)

_ENTRIES = [entry for conversation in CONVERSATIONS for entry in conversation.entries]
BY_CODE: Mapping[int, type[Message]] = {entry.code: entry.kind for entry in _ENTRIES}
CODE_OF: Mapping[type[Message], int] = {entry.kind: entry.code for entry in _ENTRIES}
CLASS_OF: Mapping[type[Message], DataClass] = {entry.kind: entry.data for entry in _ENTRIES}
NEEDS_OF: Mapping[type[Message], Needs] = {entry.kind: entry.needs for entry in _ENTRIES}
REQUESTS = frozenset(kind for kind, needs in NEEDS_OF.items() if needs != "never")  # what some binding end takes
ANSWERS = frozenset(NEEDS_OF) - REQUESTS  # what only binding ends send
HAS_PAYLOAD: frozenset[type[Message]] = frozenset(
    kind for kind in CODE_OF if any(field.name == "payload" for field in msgspec.structs.fields(kind))
)
