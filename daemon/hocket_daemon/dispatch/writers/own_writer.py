"""The writer of this side, its model or the server that is its model; and the search for its passages."""

from __future__ import annotations

from collections.abc import Callable

from hocket_bus.errors import HocketError
from hocket_bus.messages import Dispatch, Passages, Side

from ...engine.runtime.sequences import rows_of
from ...serving.search.follow_up import Found
from ...serving.search.gatherer import Find
from ...serving.search.retrieval import NO_PASSAGES
from ...serving.services import Services
from ...serving.stream.prefix import PrefixChain
from .local_writer import LocalWriter
from .server_reader import ServerReader
from .writers import OwnWriter, WritingSession


def own_writer(
    services: Services,
    opening: Dispatch,
    chain: PrefixChain,
    session: WritingSession,
    side: Side,
    *,
    find: Find | None = None,
) -> OwnWriter:
    """Return the writer of `side`; `chain` holds the answer's tokens for the session. `find` replaces a search."""
    find = find or _search(services, opening, session)
    if services.reader is not None:
        return ServerReader(services, opening, chain, session, side, find=find)
    return LocalWriter(services, opening, chain, session, side, find=find)


def rows_needed(services: Services, documents: int, contrast: float) -> int:
    """Return the rows that are kept free for a session in which so many passages may be found."""
    return 1 if services.reader is not None else rows_of(documents, alone=bool(contrast))


def _search(services: Services, opening: Dispatch, session: WritingSession) -> Find:
    """Return a search of this side's documents."""

    def find(done: Callable[[Passages | HocketError], None]) -> Callable[[], None]:
        lookups = services.retrieval.lookups(session.user)

        def taken(outcome: Found | HocketError) -> None:
            done(outcome.passages if isinstance(outcome, Found) else outcome)

        if opening.documents == 0:
            done(NO_PASSAGES)
        else:
            within, words = session.within, services.reading.words
            lookups.find(opening.prompt, opening.documents, taken, within=within, words=words)
        return lookups.close

    return find
