"""The tables [gate] of a device's file and [federation] of a cloud's."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, FilePath

Device = Annotated[str, Meta(min_length=1, max_length=64)]


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The choice whether a question in mode `auto` is answered at home, on this device alone: docs/graph.md."""

    gate: Annotated[
        Literal["evidence", "answers"],
        Meta(
            description="how the gate decides: `evidence`: by what a search at home finds, before any token is "
            "written; `answers`: by whether several answers written at home are confident and agree, which takes "
            "longer"
        ),
    ] = "evidence"
    candidates: Annotated[
        int, Meta(ge=2, le=8, description="answers that the gate `answers` compares"), FOR_EXPERTS
    ] = 3
    passages: Annotated[
        int, Meta(ge=1, le=16, description="passages found at home that the gate considers"), FOR_EXPERTS
    ] = 4
    calibration: Annotated[
        FilePath,
        Meta(description="file written by `hocket graph calibrate`; empty: the built-in calibration"),
    ] = ""


class FederationSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Devices that may ask each other, and how: docs/graph.md."""

    groups: Annotated[
        dict[str, Annotated[list[Device], Meta(max_length=1_000)]],
        Meta(
            description='devices that ask and answer each other, by the names of their keys: `{family = ["anna", '
            '"ben"]}`; other devices are neither asked nor answered, and nothing of theirs is stored'
        ),
    ] = {}
    devices: Annotated[
        int, Meta(ge=1, le=16, description="number of devices that are asked for evidence"), FOR_EXPERTS
    ] = 2
    gather_s: Annotated[
        float, Meta(gt=0, le=60, description="how long to wait for evidence, in seconds"), FOR_EXPERTS
    ] = 2.0
    keep_days: Annotated[
        float,
        Meta(gt=0, description="days after which the summaries of an absent device are deleted"),
        FOR_EXPERTS,
    ] = 90.0
