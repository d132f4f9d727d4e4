"""The events of a response as it is written, in Open Responses' order, each with its number."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import msgspec

from hocket_bus.messages import Done, Token

from ..citations import Citation
from ..gateway import Gateway
from ..questions import Answer, of_token
from ..refusals import Refusal
from .resource import Resource, flat
from .shapes import DONE

Keep = Callable[[dict[str, Any]], None]


class _Events:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._numbers = itertools.count()

    def event(self, kind: str, **fields: object) -> bytes:
        number = next(self._numbers)
        value = {"type": kind, "sequence_number": number, **fields}
        return f"id: {number}\nevent: {kind}\ndata: ".encode() + msgspec.json.encode(value) + b"\n\n"

    def in_item(self, kind: str, **fields: object) -> bytes:
        return self.event(kind, item_id=self._resource.message_id, output_index=0, **fields)

    def in_part(self, kind: str, **fields: object) -> bytes:
        return self.in_item(kind, content_index=0, **fields)

    def begin(self) -> Iterator[bytes]:
        resource, begun = self._resource, self._resource.begun()
        yield self.event("response.created", response=begun)
        yield self.event("response.in_progress", response=begun)
        yield self.event("response.output_item.added", output_index=0, item=resource.message("in_progress", []))
        yield self.in_part("response.content_part.added", part=resource.part("", []))

    def end(self, done: Done, citations: list[Citation], whole: dict[str, Any]) -> Iterator[bytes]:
        part = self._resource.part(done.text, citations)
        for index, annotation in enumerate(flat(citations)):
            yield self.in_part("response.output_text.annotation.added", annotation_index=index, annotation=annotation)
        yield self.in_part("response.output_text.done", text=done.text, logprobs=part["logprobs"])
        yield self.in_part("response.content_part.done", part=part)
        yield self.event("response.output_item.done", output_index=0, item=whole["output"][0])
        yield self.event(f"response.{whole['status']}", response=whole)


async def events(gateway: Gateway, answer: Answer, resource: Resource, base: str, keep: Keep) -> AsyncGenerator[bytes]:
    """All events; `keep` gets the response as it ends, before its last event is sent."""
    made = _Events(resource)
    try:
        for piece in made.begin():
            yield piece
        async for event in answer.events():
            if isinstance(event, Token):
                told = {"delta": event.text, "logprobs": resource.logprobs([event])}
                yield made.in_part("response.output_text.delta", **told, hocket=of_token(event))
            elif isinstance(event, Done):
                citations = await gateway.citations(event, answer, base)
                whole = resource.ended(event, citations)
                keep(whole)
                for piece in made.end(event, citations, whole):
                    yield piece
    except Refusal as refusal:
        failed = resource.failed(refusal)
        keep(failed)
        yield made.event("response.failed", response=failed)
    yield DONE
