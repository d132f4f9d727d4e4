"""The status of device and cloud, which the page shows beside answers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from ..access.people import Person
from ..gateway import Gateway
from ..http.sending import json_response
from .owning import is_owner

_LABELLED = re.compile(r'(\w+)\{\w+="([^"]*)"\}')


async def status(request: Request) -> Response:
    """Return facts and figures of the device daemon.

    Bytes that left, what may leave, and whether the link is cut are only for those who need no key.
    """
    gateway: Gateway = request.app.state.gateway
    person: Person = request.state.person
    found = await gateway.upstream.status()
    if found is None:
        return json_response({"running": False})
    figures = {
        "round_trip_s": found.metrics.get("rtt_s"),
        "acceptance": _acceptance(found.metrics),
    }
    owners = {
        "left": _by_label(found.metrics, "sent_bytes_total"),
        "leaves": found.facts.get("leaves this device"),
        "better_model": found.facts.get("a better model"),
        "cut": _is_cut(found.metrics),
    }
    shown = owners if is_owner(person) else dict.fromkeys(owners)
    return json_response({"running": True, **gateway.shown(found), **figures, **shown})


def _acceptance(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the fraction of each side's drafts that were accepted since the daemon's start; empty before the first."""
    written = _by_label(metrics, "tokens_total")
    joint = sum(written.values()) - written.get("solo", 0.0)
    return {side: count / joint for side, count in _by_label(metrics, "accepted_total").items() if joint}


def _is_cut(metrics: Mapping[str, float]) -> bool | None:
    """Tell whether the link is cut; None if there is none."""
    return bool(metrics["link_cut"]) if "link_cut" in metrics else None


def _by_label(metrics: Mapping[str, float], name: str) -> dict[str, float]:
    """Return the values of a metric by its label."""
    found = ((_LABELLED.fullmatch(full), value) for full, value in metrics.items())
    return {match[2]: value for match, value in found if match is not None and match[1] == name}
