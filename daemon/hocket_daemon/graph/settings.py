"""The tables [gate] of a device's file and [federation] of a cloud's."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, FilePath

Device = Annotated[str, Meta(min_length=1, max_length=64)]


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The choice whether a question of `auto` is answered at home: docs/graph.md."""

    gate: Annotated[
        Literal["evidence", "answers"],
        Meta(
            description="`evidence`: by what a search at home finds, before a token is written; `answers`: by whether "
            "several answers written at home are sure of themselves and agree, which takes their time"
        ),
    ] = "evidence"
    candidates: Annotated[
        int, Meta(ge=2, le=8, description="answers that the gate `answers` compares"), FOR_EXPERTS
    ] = 3
    passages: Annotated[
        int, Meta(ge=1, le=16, description="passages found at home that the gate looks at"), FOR_EXPERTS
    ] = 4
    calibration: Annotated[
        FilePath,
        Meta(description="the file that `hocket graph calibrate` writes; without it the shipped calibration"),
    ] = ""


class FederationSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Devices that may ask each other, and how: docs/graph.md."""

    groups: Annotated[
        dict[str, Annotated[list[Device], Meta(max_length=1_000)]],
        Meta(
            description="devices that ask and answer each other, by the names of their keys: "
            '`{family = ["anna", "ben"]}`; others are neither asked nor answered, and nothing is kept of them'
        ),
    ] = {}
    devices: Annotated[int, Meta(ge=1, le=16, description="devices that are asked for evidence"), FOR_EXPERTS] = 2
    gather_s: Annotated[
        float, Meta(gt=0, le=60, description="how long evidence is waited for, in seconds"), FOR_EXPERTS
    ] = 2.0
    keep_days: Annotated[
        float,
        Meta(gt=0, description="a device's summaries are forgotten when it was not there for so many days"),
        FOR_EXPERTS,
    ] = 90.0
