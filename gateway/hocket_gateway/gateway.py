"""The state that all requests share: the connections to the daemons, documents, responses and questions."""

from __future__ import annotations

import time
from pathlib import Path

from hocket_bus.messages import Document, Done, Status

from .access.people import People, Person
from .answers.background import BackgroundResponses
from .answers.citations import Citation, cited, named
from .answers.composing import Composing
from .answers.marks import Marks
from .answers.questions import Answer, Questions
from .answers.response_store import ResponseStore
from .http.in_flight import InFlight
from .library.document_turns import DocumentTurns
from .library.readings import Readings
from .library.removals import Removals
from .library.stored import StoredDocuments
from .library.uploads import Uploads
from .library.watching import Watching
from .settings import ServeSettings
from .upstream import Upstream

FACTS = ("model", "cloud", "retrieval")  # of a status, that clients are shown


class Gateway:
    """Shared state of a gateway. Made on the loop that serves; closed at its end."""

    def __init__(self, settings: ServeSettings, people: People) -> None:
        keys = Path(settings.keys) if settings.keys else None
        self.settings = settings
        self.started_s = int(time.time())
        self.upstream = Upstream(settings.device, keys)
        self.documents = StoredDocuments(settings.retrieval, keys)
        self.uploads = Uploads(Path(settings.uploads) if settings.uploads else None, settings.max_upload_bytes)
        self.readings = Readings()
        self.removals = Removals(self.documents, self.uploads)
        self.turns = DocumentTurns()
        self.in_flight = InFlight()
        self.watching = Watching(Path(settings.watched) if settings.watched else None, self.documents)
        self.responses = ResponseStore(Path(settings.responses)) if settings.responses else None
        self.background = BackgroundResponses()
        self.composing = Composing(self.upstream)
        self.questions = Questions(settings, self.upstream, people)

    async def behind(self) -> dict[str, str]:
        """Return the facts of the device daemon that clients are shown; empty if it does not answer."""
        status = await self.upstream.status()
        return self.shown(status) if status is not None else {}

    def shown(self, status: Status) -> dict[str, str]:
        """Return the facts of a status that clients are shown."""
        return {name: status.facts[name] for name in FACTS if name in status.facts}

    async def listed(self, person: Person, offset: int) -> tuple[list[Document], int | None]:
        """Return a page of the documents that the person may read, and where the next begins. Raises HocketError."""
        async with self.turns.turn(person.account):
            page = await self.documents.listed(offset)
        following = offset + len(page.documents)
        found = [each for each in page.documents if person.may_read(each.name)]
        return found, following if page.documents and following < page.total else None

    async def citations(self, done: Done, answer: Answer, base: str, marks: Marks | None = None) -> list[Citation]:
        """Return the sources of an answer with these marks; this device's documents are found below `base`."""
        marks = marks or Marks()
        words = await self.documents.texts(named(done, marks))
        return cited(done, [token.text for token in answer.tokens], words, base, marks)

    async def close(self) -> None:
        """Close everything; running answers end with a reason."""
        await self.background.close()
        await self.watching.close()
        await self.readings.close()
        await self.removals.close()
        self.composing.close()
        self.documents.close()
        if self.responses is not None:
            self.responses.close()
        await self.upstream.close()
