"""The tables [aggregation] of both daemons' files and [group] of a device's."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from hocket_bus.config import FOR_EXPERTS
from hocket_bus.messages import MAX_MEMBERS

COUNTED_TEMPERATURE = 0.5  # of words whose bits are counted, where a question is asked with temperature 0


class AggregationSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The joint writing of one answer by both sides. In a session of both, the device's settings apply."""

    relevance_temperature: Annotated[
        float,
        Meta(ge=1e-6, description="temperature of the softmax that turns the passages' scores into weights"),
        FOR_EXPERTS,
    ] = 0.1
    reweigh_every: Annotated[
        int,
        Meta(ge=1, lt=1 << 16, description="tokens between two updates of the passages' weights"),
        FOR_EXPERTS,
    ] = 4
    wire_mass: Annotated[
        float,
        Meta(gt=0, le=1, description="probability mass of the next-token distribution that a draft carries"),
        FOR_EXPERTS,
    ] = 0.98
    contrast: Annotated[
        float,
        Meta(
            ge=0,
            le=4,
            description="strength of contrastive decoding: how far each passage's distribution is set against "
            "that of the question alone (β); costs one more row; 0: off",
        ),
        FOR_EXPERTS,
    ] = 0.5
    unit: Annotated[
        Literal["auto", "token", "word"],
        Meta(
            description="what the sides decide together at each step: a `token`, which needs models with one "
            "tokenizer, or a `word`, which any two models can; `auto`: tokens where the tokenizers are equal"
        ),
    ] = "auto"
    connect_wait_s: Annotated[
        float, Meta(ge=0, description="how long a question waits for a cloud that is not connected"), FOR_EXPERTS
    ] = 2.0
    peer_wait_s: Annotated[
        float,
        Meta(gt=0, description="how long a step waits for the cloud's draft before the device goes on alone"),
        FOR_EXPERTS,
    ] = 10.0
    progress_wait_s: Annotated[
        float,
        Meta(
            ge=0,
            description="how long an answer waits at most for a cloud that reports progress in reading its "
            "prompt; 0: three times the time that the device expects for its own answer, at least 20 s",
        ),
        FOR_EXPERTS,
    ] = 0.0
    rejoin_wait_s: Annotated[
        float,
        Meta(gt=0, description="how long the first joint step after a break waits for the cloud's draft"),
        FOR_EXPERTS,
    ] = 1.0
    min_evidence: Annotated[
        float,
        Meta(
            ge=-1,
            le=1,
            description="an answer is reported as probably not in the documents if the best passage's score, the "
            "probability that it answers the question, is below this; 0 or less: never",
        ),
        FOR_EXPERTS,
    ] = 0.17
    trust_cloud: Annotated[
        bool,
        Meta(
            description="do not check whether the cloud steers an answer to extract this device's private text: "
            "neither warn about such a cloud nor disconnect it"
        ),
    ] = False


class GroupSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The part of other devices of the group in an answer: docs/graph.md, docs/group.md."""

    with_: Annotated[
        Literal["passages", "drafts", "both"],
        Meta(
            description="what other devices of the group send for a question that is not answered at home: "
            "`passages`, which the cloud reads; `drafts` of each token, encrypted end to end, so that their "
            "passages stay with them; or `both`"
        ),
    ] = field(name="with", default="passages")
    cloud: Annotated[
        bool, Meta(description="the cloud drafts, too, when devices send drafts; it then sees the answer")
    ] = True
    members: Annotated[
        int,
        Meta(ge=1, le=MAX_MEMBERS, description="maximum number of devices that take part in an answer"),
        FOR_EXPERTS,
    ] = 3
    patience_ms: Annotated[
        float,
        Meta(
            ge=0,
            le=60_000,
            description="how long a step waits for a member's draft beyond one round trip before it goes on without it",
        ),
        FOR_EXPERTS,
    ] = 1_000.0
    reading_s: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            description="how long the first token waits at most for a member that reports progress in reading "
            "its prompt; 0: as `aggregation.progress_wait_s`",
        ),
        FOR_EXPERTS,
    ] = 0.0
    most_bits: Annotated[
        float,
        Meta(
            ge=0,
            le=64,
            description="limit in bits on what each token of a draft for another device can reveal of this "
            "device's documents, beyond what the question alone predicts (docs/group.md); costs one more row; "
            "0: no limit",
        ),
    ] = 0.0
    bits_a_day: Annotated[
        float,
        Meta(
            ge=0,
            description="limit in bits on what drafts can reveal of each document in a day; needs `most_bits`; "
            "0: no limit",
        ),
    ] = 0.0
    most_say: Annotated[
        float,
        Meta(gt=0, le=1, description="largest weight of any one member in the distribution of a token"),
        FOR_EXPERTS,
    ] = 0.9
