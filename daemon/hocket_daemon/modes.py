"""Every mode by its name: the one place that a new one is added to."""

from __future__ import annotations

from collections.abc import Mapping

from .aggregation.mode import AggregationMode
from .config import DaemonSettings
from .serving.mode import Mode
from .serving.services import Services


def modes(services: Services, settings: DaemonSettings) -> Mapping[str, Mode]:
    """The modes of a daemon."""
    made: list[Mode] = [
        AggregationMode(services, settings.aggregation),
    ]
    return {mode.name: mode for mode in made}
