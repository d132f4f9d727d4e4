"""What all requests share: the connections to the daemons, and the people."""

from __future__ import annotations

import time
from pathlib import Path

from hocket_bus.messages import Done

from .citations import Citation, cited, named
from .openai_api.background import BackgroundResponses
from .people import People
from .questions import Answer, Questions
from .response_store import ResponseStore
from .settings import ServeSettings
from .stored import StoredDocuments
from .upstream import Upstream

FACTS = ("model", "cloud", "retrieval")  # of a status, that clients are shown


class Gateway:
    """Made on the loop that serves; closed at its end."""

    def __init__(self, settings: ServeSettings, people: People) -> None:
        keys = Path(settings.keys) if settings.keys else None
        self.settings = settings
        self.started_s = int(time.time())
        self.upstream = Upstream(settings.device, keys)
        self.documents = StoredDocuments(settings.retrieval, keys)
        self.responses = ResponseStore(Path(settings.responses)) if settings.responses else None
        self.background = BackgroundResponses()
        self.questions = Questions(settings, self.upstream, people)

    async def behind(self) -> dict[str, str]:
        """What the device daemon says of itself; nothing where it does not answer."""
        status = await self.upstream.status()
        return {name: status.facts[name] for name in FACTS if name in status.facts} if status is not None else {}

    async def citations(self, done: Done, answer: Answer, base: str) -> list[Citation]:
        """Where an answer comes from; this device's documents are found below `base`."""
        words = await self.documents.texts(named(done))
        return cited(done, answer.texts, words, base)

    async def close(self) -> None:
        """Answers in work end with a reason."""
        await self.background.close()
        self.documents.close()
        if self.responses is not None:
            self.responses.close()
        await self.upstream.close()
