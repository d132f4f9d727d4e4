"""The models that clients see: each is a way of answering."""

from __future__ import annotations

from dataclasses import dataclass

from ..http.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Way:
    """A way of answering by the name that clients choose it with; `alone` sends the cloud nothing."""

    id: str
    mode: str
    about: str
    alone: bool = False


WAYS = (
    Way("hocket", "aggregation", "device and cloud write one answer together"),
    Way("hocket-auto", "auto", "on the device if its documents suffice, else with the cloud and other devices"),
    Way("hocket-dispatch", "dispatch", "the faster or cheaper side writes the answer"),
    Way("hocket-graph", "graph", "with the cloud and with other devices of the group"),
    Way("hocket-alone", "aggregation", "the device alone; nothing is sent to the cloud", alone=True),
)
LATEST = ":latest"  # what Ollama's clients put behind a name


def ways(*, alone_only: bool) -> tuple[Way, ...]:
    """Return all ways, or only those that send the cloud nothing."""
    return tuple(way for way in WAYS if way.alone or not alone_only)


def way_named(name: str, *, alone_only: bool) -> Way:
    """Return the way of this name. Raises Refusal."""
    allowed = ways(alone_only=alone_only)
    known = ", ".join(way.id for way in allowed)
    way = next((way for way in WAYS if way.id == name.removesuffix(LATEST)), None)
    if way is None:
        raise Refusal(
            404, f"there is no model '{name[:100]}'", f"use one of: {known}", "model_not_found", param="model"
        )
    if way not in allowed:
        raise Refusal(
            403, f"this key may not use '{way.id}'", f"use one of: {known}", "model_not_allowed", param="model"
        )
    return way
