"""Who writes for this side: its model, or the server that is its model."""

from __future__ import annotations

from hocket_bus.messages import Dispatch, Side

from ..serving.prefix import PrefixChain
from ..serving.services import Services
from .local_writer import LocalWriter
from .server_reader import ServerReader
from .writers import OwnWriter, WritingSession


def own_writer(
    services: Services, opening: Dispatch, chain: PrefixChain, session: WritingSession, side: Side
) -> OwnWriter:
    """`chain` holds the answer's tokens and belongs to the session; `side` is the one that writes."""
    if services.reader is not None:
        return ServerReader(services, opening, chain, session, side)
    return LocalWriter(services, opening, chain, session, side)


def rows_of(services: Services, documents: int) -> int:
    """Rows that are kept free for a session: one for each passage that may be found."""
    return 1 if services.reader is not None else max(1, documents)
