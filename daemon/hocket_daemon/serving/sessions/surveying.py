"""A question about the collection itself, answered from the store of the side that was asked; no model writes it."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from hocket_bus.errors import HocketError
from hocket_bus.messages import Ask, Origin, Survey, Surveyed

from ..mode import Facts, Peer, Session
from ..search.about_collection import MAX_NAMED, Asked, answer, files_named
from ..services import Services
from ..stream.reply import Reply, Sourced
from .deferred import DeferredSession

Begin = Callable[[Ask, Reply, Peer | None], Session]
ELSEWHERE = "counted on this side alone; the cloud lists its own: hocket documents --side cloud"


class Surveying(DeferredSession):
    """A session that asks the store, and becomes another one where the question is about what documents say."""

    def __init__(
        self, ask: Ask, asked: Asked, reply: Reply, services: Services, *, begun: Begin, peer: Peer | None
    ) -> None:
        """Ask the store; `begun` begins a session that answers, with the other side or without it."""
        super().__init__(ask, reply)
        self._asked, self._services, self._begun, self._peer = asked, services, begun, peer
        self._lookups = services.retrieval.lookups(reply.user)
        survey = Survey(
            request=os.urandom(16),
            text=asked.text,
            suffixes=list(asked.suffixes),
            within=list(ask.within),
            when=asked.when,
            order=asked.kind if asked.kind in ("newest", "oldest") else "newest" if asked.kind == "dated" else "name",
            folder=asked.folder,
        )
        self._lookups.ask(survey, self._on_surveyed)

    def _on_surveyed(self, outcome: Surveyed | HocketError) -> None:
        if self._closed:
            return
        if isinstance(outcome, HocketError):
            self.fail(outcome)
        elif self._asked.kind == "summary":
            self._answer_from(files_named(self._asked.file, outcome.names))
        elif self._means_another(outcome):
            self._answer_from([])
        else:
            self._say(outcome)

    def _means_another(self, found: Surveyed) -> bool:
        """Tell whether the words that seemed to be a time mean none, or those for a folder name none."""
        asked = self._asked
        return bool((asked.when and not found.when) or (asked.folder and not found.total and not asked.suffixes))

    def _answer_from(self, files: list[str]) -> None:
        """Answer from the first file alone, without the other side's documents; without a file, as any question."""
        peer = None if files else self._peer
        self._reply.ask = _of_file(self._ask, files[0]) if files else self._ask
        self._become(lambda: self._begun(self._reply.ask, self._reply, peer))

    def _say(self, found: Surveyed) -> None:
        text, ids = self._fitting(found)
        if self._peer is not None:
            self._reply.notice(ELSEWHERE)
        finish = self._reply.withhold(ids) or "eos"
        is_list = self._asked.text or self._asked.kind != "count"
        named = found.names[: self._asked.number or MAX_NAMED] if is_list else []
        origins = [Origin(side=self._services.side, document=name, ordinal=0, share=1 / len(named)) for name in named]
        self._reply.finish(finish, None, Sourced(origins, texts=[text]))
        self._close()

    def _fitting(self, found: Surveyed) -> tuple[str, list[int]]:
        """Return the answer that names as many documents as its length allows, one at least, and its ids."""
        for most in range(MAX_NAMED, 0, -1):
            text = answer(self._asked, found, most)
            ids = list(self._services.model.continued(text))
            if len(ids) < self._ask.sampling.max_tokens:
                break
        return text, ids

    def record(self) -> Facts:
        """Return the record: of an answer from the store that it is one."""
        record = super().record()
        return record if self._inner is not None else {**record, "answered from": "the list of documents; no model"}

    def _stop(self) -> None:
        self._lookups.close()


def _of_file(ask: Ask, name: str) -> Ask:
    """Return the question restricted to one file, which is named and so need not be near the question."""
    return msgspec.structs.replace(ask, within=[name], unknown="answer")
