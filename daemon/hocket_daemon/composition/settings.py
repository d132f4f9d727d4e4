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
    """Prose that is completed as it is typed: docs/composition.md."""

    model: Annotated[
        str,
        Meta(
            description="what completes texts: `auto` is the model that answers, where it suggests within 250 ms on "
            "this machine, and else `bundled-composition` beside it; empty is the one that answers; a name as under "
            "`[model]`, such as `smollm2-composition`, is a model beside it"
        ),
    ] = AUTO
    distance: Annotated[
        Count | Literal["auto"],
        Meta(
            description="tokens by which the text may change before memory is asked for again (τ); "
            "`auto` is more while nothing new comes"
        ),
        FOR_EXPERTS,
    ] = 10
    memory_tokens: Annotated[
        int, Meta(ge=16, description="tokens of takeaways that are remembered; the oldest go"), FOR_EXPERTS
    ] = 160
    confidence: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="a suggestion is shown as far as it is right with this chance, names and numbers as they stand "
            "in memory or in the text; 0: all of it",
        ),
        FOR_EXPERTS,
    ] = 0.7
    passages: Annotated[
        int, Meta(ge=1, le=16, description="passages that takeaways are made of at each request"), FOR_EXPERTS
    ] = 3
    takeaways: Annotated[int, Meta(ge=1, le=32, description="takeaways of a request"), FOR_EXPERTS] = 4
    own_documents: Annotated[bool, Meta(description="remember this device's own documents, too")] = True
    redact: Annotated[
        tuple[str, ...],
        Meta(
            description="regular expressions of what is taken out of a query before it leaves, "
            "beside mail addresses and numbers of six digits and more"
        ),
    ] = ()


class GeneratorSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The writer of the memory that devices ask for while they compose: docs/composition.md."""

    generator: Annotated[
        Generator,
        Meta(
            description="`extractive`: sentences of the documents as they stand; `model`: this daemon's model writes "
            "takeaways of them; `server`: the one of `[server]` does"
        ),
    ] = "extractive"
