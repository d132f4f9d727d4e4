"""The tables [composition] of the two daemons' files: a device composes, a cloud writes memory."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS

from ..engine.settings import AUTO

Generator = Literal["extractive", "model", "server"]
Count = Annotated[int, Meta(ge=0)]
PATIENCE_S = 3.0  # behind a change of the text, in which memory that is on its way is waited for
PAUSE_S = 0.7  # behind a change, from which on its writer is taken to read what is suggested


class CompositionSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Completion of prose as it is typed: docs/composition.md."""

    model: Annotated[
        str,
        Meta(
            description="the model that completes text: `auto`: the answering model if it suggests within 250 ms "
            "on this machine, else `bundled-composition`, loaded beside it; empty: the answering model; or a "
            "name as under `[model]`, such as `smollm2-composition`, loaded beside it"
        ),
    ] = AUTO
    distance: Annotated[
        Count | Literal["auto"],
        Meta(
            description="tokens by which the text must change before memory is requested again (τ); `auto` "
            "raises it while replies bring nothing new"
        ),
        FOR_EXPERTS,
    ] = 10
    memory_tokens: Annotated[
        int, Meta(ge=16, description="tokens of takeaways kept as memory; the oldest are dropped first"), FOR_EXPERTS
    ] = 160
    confidence: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="a suggestion is cut off where its probability of being right falls below this, and "
            "names and numbers appear only as they are in memory or in the text; 0: no cut",
        ),
        FOR_EXPERTS,
    ] = 0.7
    passages: Annotated[
        int, Meta(ge=1, le=16, description="passages per memory request that takeaways are written from"), FOR_EXPERTS
    ] = 3
    takeaways: Annotated[int, Meta(ge=1, le=32, description="takeaways per memory request"), FOR_EXPERTS] = 4
    own_documents: Annotated[bool, Meta(description="also use this device's own documents for memory")] = True
    redact: Annotated[
        tuple[str, ...],
        Meta(
            description="regular expressions of text to remove from a query before it leaves, in addition to "
            "mail addresses and numbers of six or more digits"
        ),
    ] = ()


class GeneratorSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The writer of the memory that devices request while they compose: docs/composition.md."""

    generator: Annotated[
        Generator,
        Meta(
            description="what takeaways are: `extractive`: sentences copied from the documents; `model`: texts "
            "by this daemon's model; `server`: texts by the server of `[server]`"
        ),
    ] = "extractive"
