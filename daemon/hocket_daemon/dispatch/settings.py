"""The table [dispatch] of the device daemon's file, and which of its values do not go together."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, FilePath
from hocket_bus.errors import BadConfiguration

from .prices import TABLE_8

Constraint = Literal["device", "server"]
PolicyName = Literal["priced", "ramp", "greedy", "threshold"]
Migration = Literal["overlap", "stop", "off"]
OF_CONSTRAINT: dict[PolicyName, Constraint] = {"ramp": "device", "greedy": "device", "threshold": "server"}


class DispatchSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The choice of the side that starts an answer and of the one that continues it, and what that may cost."""

    budget: Annotated[
        float, Meta(ge=0, le=1, description="share of all prompt tokens that the constrained side may read")
    ] = 0.5
    burst_tokens: Annotated[
        int, Meta(ge=0, description="prompt tokens by which the constrained side may exceed the budget"), FOR_EXPERTS
    ] = 4_000
    max_per_day: Annotated[
        float, Meta(ge=0, description="maximum dollars a day; once spent, the device answers alone; 0: no limit")
    ] = 0.0
    constraint: Annotated[
        Literal["auto", "device", "server"],
        Meta(description="the side whose tokens the budget limits; `auto`: the one whose tokens cost more"),
    ] = "auto"
    policy: Annotated[
        PolicyName,
        Meta(
            description="how long each side waits before it starts: `priced`, or `ramp`, `greedy` or `threshold` "
            "of the DiSCo paper"
        ),
        FOR_EXPERTS,
    ] = "priced"
    tail_share: Annotated[
        float,
        Meta(gt=0, lt=1, description="share of the budget that `ramp` and `greedy` reserve for slow answers (α)"),
        FOR_EXPERTS,
    ] = 0.05
    migration: Annotated[
        Migration,
        Meta(
            description="how the answer moves to the cheaper side: `overlap` (the source writes until the target "
            "is ready), `stop` (as in the paper) or `off`"
        ),
        FOR_EXPERTS,
    ] = "overlap"
    quality_s: Annotated[
        float,
        Meta(ge=0, description="seconds that it is worth waiting for the cloud's answer instead of the device's"),
    ] = 0.0
    pace: Annotated[float, Meta(gt=0, description="reading speed of the reader, in tokens a second (r_c)")] = 4.8
    price: Annotated[str, Meta(description="name of a known price, such as `gpt-4o-mini`; empty: the two below")] = ""
    price_input: Annotated[float, Meta(ge=0, description="dollars per million prompt tokens of the server")] = 0.0
    price_output: Annotated[float, Meta(ge=0, description="dollars per million answer tokens of the server")] = 0.0
    exchange_rate: Annotated[
        float,
        Meta(ge=0, description="what the device's computation costs you, in dollars per 10^15 FLOPs (λ)"),
        FOR_EXPERTS,
    ] = 0.3
    account: Annotated[
        FilePath, Meta(description="file that keeps what was spent across restarts; empty: a restart forgets it")
    ] = ""


def check(settings: DispatchSettings) -> None:
    """Raise BadConfiguration for values that do not go together."""
    if settings.price and settings.price not in TABLE_8:
        raise BadConfiguration(
            f"unknown price '{settings.price}' under [dispatch]",
            f"use one of: {', '.join(TABLE_8)}, or set price_input and price_output",
        )
    if settings.price and (settings.price_input or settings.price_output):
        raise BadConfiguration(
            "[dispatch] sets both 'price' and a price in dollars", "remove 'price', or price_input and price_output"
        )
    fits = OF_CONSTRAINT.get(settings.policy)
    if fits is not None and settings.constraint not in ("auto", fits):
        raise BadConfiguration(
            f"dispatch.policy '{settings.policy}' is for constraint = \"{fits}\"",
            f'set constraint to "{fits}" or "auto", or policy to "priced"',
        )
