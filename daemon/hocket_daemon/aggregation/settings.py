"""The tables [aggregation] of both daemons' files and [group] of a device's."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from hocket_bus.config import FOR_EXPERTS
from hocket_bus.messages import MAX_MEMBERS


class AggregationSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules by which two sides write one answer. In a session of both, what the device's file says holds."""

    relevance_temperature: Annotated[
        float, Meta(ge=1e-6, description="passages' scores are divided by this before they become weights"), FOR_EXPERTS
    ] = 0.1
    reweigh_every: Annotated[
        int,
        Meta(ge=1, lt=1 << 16, description="tokens between two looks at how relevant the passages are"),
        FOR_EXPERTS,
    ] = 4
    wire_mass: Annotated[
        float, Meta(gt=0, le=1, description="share of a distribution that a draft carries"), FOR_EXPERTS
    ] = 0.98
    contrast: Annotated[
        float,
        Meta(
            ge=0,
            le=4,
            description="how strongly each passage is set against the question alone (β), at the cost of one row; "
            "0: not at all",
        ),
        FOR_EXPERTS,
    ] = 0.5
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
            description="how long an answer waits at most for a cloud that reports progress in reading its prompt; "
            "0: three times what the device expects its own answer to take, at least 20 s",
        ),
        FOR_EXPERTS,
    ] = 0.0
    rejoin_wait_s: Annotated[
        float, Meta(gt=0, description="the same for the first joint step after a break"), FOR_EXPERTS
    ] = 1.0
    min_evidence: Annotated[
        float,
        Meta(
            ge=-1,
            le=1,
            description="an answer is said to be probably not in the documents where no passage's score, the "
            "probability that it answers, reaches this; 0 or less: never",
        ),
        FOR_EXPERTS,
    ] = 0.17
    trust_cloud: Annotated[
        bool,
        Meta(description="neither leave nor warn of a cloud that leads an answer to this device's documents"),
    ] = False


class GroupSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The part that other devices of the group take where they are asked: docs/graph.md."""

    with_: Annotated[
        Literal["passages", "drafts", "both"],
        Meta(
            description="what devices of the group send for a question that goes beyond home: `passages`, which the "
            "cloud reads; `drafts` of each token, sealed, while their passages stay with them; or `both`"
        ),
    ] = field(name="with", default="passages")
    cloud: Annotated[
        bool, Meta(description="the cloud writes along, too, where devices send drafts; it then sees the answer")
    ] = True
    members: Annotated[
        int, Meta(ge=1, le=MAX_MEMBERS, description="devices that take part in an answer at most"), FOR_EXPERTS
    ] = 3
    patience_ms: Annotated[
        float,
        Meta(
            ge=0,
            le=60_000,
            description="how long a step waits for a member beyond a round trip; then it goes on without",
        ),
        FOR_EXPERTS,
    ] = 1_000.0
    reading_s: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            description="how long the first token waits at most for a member that reports progress in reading; "
            "0: as `aggregation.progress_wait_s`",
        ),
        FOR_EXPERTS,
    ] = 0.0
    most_bits: Annotated[
        float,
        Meta(
            ge=0,
            le=64,
            description="drafts for others say of no token more than so many bits beside what the question alone says "
            "(docs/privacy.md), at the cost of one row; 0: no bound",
        ),
    ] = 0.0
    bits_a_day: Annotated[
        float,
        Meta(ge=0, description="bits that drafts may tell of each document in a day, with `most_bits`; 0: no bound"),
    ] = 0.0
    most_say: Annotated[
        float, Meta(gt=0, le=1, description="the largest share of any one member in a token"), FOR_EXPERTS
    ] = 0.9
