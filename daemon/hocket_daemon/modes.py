"""Every mode by its name: the one place that a new one is added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket_bus.sockets import Server

from .aggregation.mode import AggregationMode
from .aggregation.settings import AggregationSettings
from .aggregation_or_dispatch import AggregationOrDispatch
from .auto import AutoMode, GraphMode
from .composition.mode import CompositionMode
from .composition.model_choice import SMALL, ModelChoice, chosen
from .composition.service import ComposingDaemon, CompositionService
from .composition.settings import GeneratorSettings
from .config import CloudSettings, DaemonSettings, DeviceSettings
from .dispatch.mode import DispatchMode, SharedSettings
from .dispatch.settings import DispatchSettings
from .engine.language_model import LanguageModel
from .engine.settings import AUTO
from .graph.settings import GateSettings
from .parts import Parts
from .serving.mode import Asks, Peers, Reports
from .serving.services import Services
from .serving.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Modes:
    """By what they are: asked by clients, opened by the other side, and with something to say of themselves."""

    asks: Mapping[str, Asks]
    peers: Mapping[str, Peers]
    reports: Sequence[Reports]


def modes(services: Services, settings: DaemonSettings, parts: Parts) -> Modes:
    """The modes of a daemon."""
    aggregation = AggregationMode(services, settings.aggregation, parts.scheduler)
    gate = settings.gate if isinstance(settings, DeviceSettings) else GateSettings()
    dispatch = DispatchMode(services, _dispatch(settings), _weighing(settings.aggregation), parts.strategy)
    together = AggregationOrDispatch(aggregation, dispatch, services)
    made: list[Asks | Peers] = [
        aggregation,
        dispatch,
        CompositionMode(services, _generator(settings)),
        GraphMode(together, services),
        AutoMode(together, services, gate),
    ]
    return Modes(
        {mode.name: mode for mode in made if isinstance(mode, Asks)} | {together.name: together},
        {mode.name: mode for mode in made if isinstance(mode, Peers)},
        [mode for mode in made if isinstance(mode, Reports)],
    )


def composing(settings: DeviceSettings, answering: LanguageModel) -> ModelChoice:
    """Which model completes texts on a device; a server does not while one types."""
    if settings.model.engine == "openai" and settings.composition.model in ("", AUTO):
        return ModelChoice(SMALL, "the model that answers is a server")
    return chosen(settings.composition.model, answering)


def composition(
    daemon: ComposingDaemon,
    services: Services,
    server: Server,
    sessions: Sessions,
    settings: DeviceSettings,
    *,
    why: str,
) -> CompositionService:
    """Where clients compose texts on a device; `why` its model does that."""
    return CompositionService(daemon, services, server, sessions, settings.composition, why=why)


def _dispatch(settings: DaemonSettings) -> DispatchSettings:
    """A cloud has no budget of its own: its devices decide."""
    return settings.dispatch if isinstance(settings, DeviceSettings) else DispatchSettings()


def _generator(settings: DaemonSettings) -> GeneratorSettings:
    """A device writes no memory for others."""
    return settings.composition if isinstance(settings, CloudSettings) else GeneratorSettings()


def _weighing(settings: AggregationSettings) -> SharedSettings:
    return SharedSettings(
        settings.relevance_temperature, settings.wire_mass, settings.min_evidence, trusts=settings.trust_cloud
    )
