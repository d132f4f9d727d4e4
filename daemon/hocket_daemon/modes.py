"""Every mode by its name: the one place that a new one is added to."""

from __future__ import annotations

from collections.abc import Mapping

from .aggregation.mode import AggregationMode
from .config import DaemonSettings, DeviceSettings
from .dispatch.mode import DispatchMode
from .dispatch.settings import DispatchSettings
from .serving.mode import Mode
from .serving.services import Services


def modes(services: Services, settings: DaemonSettings) -> Mapping[str, Mode]:
    """The modes of a daemon."""
    weighing = settings.aggregation
    made: list[Mode] = [
        AggregationMode(services, settings.aggregation),
        DispatchMode(
            services,
            _dispatch(settings),
            temperature=weighing.relevance_temperature,
            wire_mass=weighing.wire_mass,
            trusts=weighing.trust_cloud,
        ),
    ]
    return {mode.name: mode for mode in made}


def _dispatch(settings: DaemonSettings) -> DispatchSettings:
    """A cloud has no budget of its own: its devices decide."""
    return settings.dispatch if isinstance(settings, DeviceSettings) else DispatchSettings()
