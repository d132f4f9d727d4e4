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
    """The choice of the side that begins an answer and of the one that goes on, and what that may cost."""

    budget: Annotated[
        float, Meta(ge=0, le=1, description="share of all prompt tokens that the constrained side may read")
    ] = 0.5
    burst_tokens: Annotated[
        int, Meta(ge=0, description="prompt tokens that the constrained side may be ahead of the budget"), FOR_EXPERTS
    ] = 4_000
    max_per_day: Annotated[
        float, Meta(ge=0, description="dollars a day; at this the device answers alone; 0: no limit")
    ] = 0.0
    constraint: Annotated[
        Literal["auto", "device", "server"],
        Meta(description="the side that the budget is for; auto: the one whose tokens cost more"),
    ] = "auto"
    policy: Annotated[
        PolicyName,
        Meta(description="how long each side waits before it starts: priced, or one of the DiSCo paper's"),
        FOR_EXPERTS,
    ] = "priced"
    tail_share: Annotated[
        float,
        Meta(gt=0, lt=1, description="share of the budget that ramp and greedy keep for slow answers (α)"),
        FOR_EXPERTS,
    ] = 0.05
    migration: Annotated[
        Migration,
        Meta(
            description="how the writing moves to the cheaper side: overlap (the source writes on until the target "
            "is there), stop (as in the paper) or off"
        ),
        FOR_EXPERTS,
    ] = "overlap"
    quality_s: Annotated[
        float,
        Meta(ge=0, description="seconds that one waits for the cloud rather than read what the device writes"),
    ] = 0.0
    pace: Annotated[float, Meta(gt=0, description="tokens a second that a reader reads (r_c)")] = 4.8
    price: Annotated[str, Meta(description="a price by its name, such as gpt-4o-mini; empty: the two below")] = ""
    price_input: Annotated[float, Meta(ge=0, description="dollars for a million prompt tokens of the server")] = 0.0
    price_output: Annotated[float, Meta(ge=0, description="dollars for a million answer tokens of the server")] = 0.0
    exchange_rate: Annotated[
        float, Meta(ge=0, description="dollars that 10^15 FLOPs of the device are worth to you (λ)"), FOR_EXPERTS
    ] = 0.3
    account: Annotated[
        FilePath, Meta(description="the file that keeps what was spent, over restarts, too; empty: it is forgotten")
    ] = ""


def check(settings: DispatchSettings) -> None:
    """Raise BadConfiguration for values that do not go together."""
    if settings.price and settings.price not in TABLE_8:
        raise BadConfiguration(
            f"[dispatch] has no price '{settings.price}'",
            f"take one of {', '.join(TABLE_8)}, or set price_input and price_output",
        )
    if settings.price and (settings.price_input or settings.price_output):
        raise BadConfiguration(
            "[dispatch] has 'price' and a price in dollars, too", "leave 'price' out, or price_input and price_output"
        )
    fits = OF_CONSTRAINT.get(settings.policy)
    if fits is not None and settings.constraint not in ("auto", fits):
        raise BadConfiguration(
            f"dispatch.policy '{settings.policy}' is for constraint = \"{fits}\"",
            f'set constraint to "{fits}" or "auto", or policy to "priced"',
        )
