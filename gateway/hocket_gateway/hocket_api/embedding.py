"""Embedding of texts, for both APIs: by the embedder of this device's documents, and nothing leaves the device."""

from __future__ import annotations

import struct
from typing import Literal

from hocket_bus.messages import MAX_EMBEDDED

from ..access.people import Person
from ..answers.ways import LATEST
from ..gateway import Gateway
from ..http.refusals import Refusal, unsupported

MODEL = "hocket-embeddings"
MAX_CHARS = 50_000  # of a text
Role = Literal["document", "query"]  # what is found, and what is looked for: their vectors differ


async def vectors(
    gateway: Gateway, person: Person, model: str, texts: list[str], param: str, *, role: Role = "document"
) -> list[bytes]:
    """Return a vector of length 1 for each text: float32, little-endian. Raises Refusal, HocketError."""
    if model.removesuffix(LATEST) != MODEL:
        text = f"'{model[:100]}' is not an embedding model"
        raise Refusal(404, text, f"use {MODEL}", "model_not_found", param="model")
    if not texts or not all(text.strip() for text in texts):
        raise Refusal(400, "there is nothing to embed", "send texts that are not empty", "bad_request", param=param)
    if len(texts) > MAX_EMBEDDED or max(map(len, texts)) > MAX_CHARS:
        text = f"more than {MAX_EMBEDDED} texts, or one of more than {MAX_CHARS} characters"
        raise Refusal(400, text, "send fewer at a time", "too_long", param=param)
    async with gateway.turns.turn(person.account):
        return (await gateway.documents.embed(texts, role)).vectors


def numbers(vector: bytes) -> list[float]:
    """Return the numbers of a vector."""
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))


def texts_of(wanted: str | list[object], param: str) -> list[str]:
    """Return the texts to embed. Raises Refusal for token ids, which differ between models."""
    texts = [wanted] if isinstance(wanted, str) else wanted
    if not all(isinstance(text, str) for text in texts):
        raise unsupported(param, "token numbers are not accepted as input", "send texts")
    return [text for text in texts if isinstance(text, str)]
