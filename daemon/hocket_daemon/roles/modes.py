"""The table of all modes by name: the only place to which a new one is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hocket_bus.messages import Ask, DispatchOptions
from hocket_bus.sockets import Server

from ..aggregation.leader_terms import options_of
from ..aggregation.mode import AggregationMode
from ..aggregation.settings import AggregationSettings, GroupSettings
from ..composition.mode import CompositionMode
from ..composition.model_choice import SMALL, ModelChoice, chosen
from ..composition.service import ComposingDaemon, CompositionService
from ..composition.settings import GeneratorSettings
from ..config import CloudSettings, DaemonSettings, DeviceSettings
from ..dispatch.mode import DispatchMode, SharedSettings
from ..dispatch.settings import DispatchSettings
from ..engine.backends.automatic import quickest
from ..engine.backends.format_choice import has_gpu
from ..engine.language_model import LanguageModel
from ..engine.settings import AUTO
from ..graph.settings import GateSettings
from ..serving.disclosure import Disclosure
from ..serving.mode import Asks, Peer, Peers, Reports, Session
from ..serving.peers.peer_group import PeerGroup
from ..serving.services import Services
from ..serving.sessions.sessions import Sessions
from ..serving.stream.reply import Reply
from .auto import AutoMode, GraphMode, Group
from .parts import Parts


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes by role: those that clients ask, those that the other side opens, and those that report facts."""

    asks: Mapping[str, Asks]
    peers: Mapping[str, Peers]
    reports: Sequence[Reports]


def modes(
    services: Services,
    settings: DaemonSettings,
    parts: Parts,
    peer_group: Callable[[], PeerGroup | None],
    disclosure: Disclosure | None,
) -> Modes:
    """Return the modes of a daemon; `peer_group` returns the other devices of its group, where it has any.

    `disclosure` bounds what its drafts disclose to others.
    """
    group = Group(settings.group if isinstance(settings, DeviceSettings) else GroupSettings(), peer_group)
    gate = settings.gate if isinstance(settings, DeviceSettings) else GateSettings()
    dispatch = DispatchMode(services, _dispatch(settings), _weighing(settings.aggregation), parts.strategy)

    def dispatched(ask: Ask, reply: Reply, peer: Peer | None, escalates: bool) -> Session:
        """Dispatch a question that cannot be aggregated."""
        reply.ask = replace(ask, options=DispatchOptions(alone=options_of(ask).alone))
        return dispatch.begin(reply.ask, reply, peer, begins="cloud" if escalates else "evidence")

    aggregation = AggregationMode(services, settings.aggregation, parts.scheduler, dispatched, disclosure)
    made: list[Asks | Peers] = [
        aggregation,
        dispatch,
        CompositionMode(services, _generator(settings)),
        GraphMode(aggregation, services, group),
        AutoMode(aggregation, services, group, gate),
    ]
    return Modes(
        {mode.name: mode for mode in made if isinstance(mode, Asks)},
        {mode.name: mode for mode in made if isinstance(mode, Peers)},
        [mode for mode in made if isinstance(mode, Reports)],
    )


def drafting_along(modes: Modes) -> Mapping[str, Peers]:
    """Return the modes in which other devices of the group may open sessions on a device."""
    return {AggregationMode.name: modes.peers[AggregationMode.name]}


def composing(settings: DeviceSettings, answering: LanguageModel) -> ModelChoice:
    """Choose the model that completes texts on a device; a server does not complete them while they are typed."""
    if settings.model.engine == "openai" and settings.composition.model in ("", AUTO):
        return ModelChoice(SMALL, "the model that answers is a server")
    check = None if has_gpu() else quickest(answering.name)
    step_s = check.step_ms / 1000 if check is not None and check.dtype == answering.precision else 0.0
    return chosen(settings.composition.model, answering, step_s)


def composition(
    daemon: ComposingDaemon,
    services: Services,
    server: Server,
    sessions: Sessions,
    settings: DeviceSettings,
    *,
    why: str,
) -> CompositionService:
    """Return the service by which clients compose texts on a device; `why` tells why its model does that."""
    return CompositionService(daemon, services, server, sessions, settings.composition, why=why)


def _dispatch(settings: DaemonSettings) -> DispatchSettings:
    """Return the settings of dispatch; a cloud has no budget of its own, as its devices decide."""
    return settings.dispatch if isinstance(settings, DeviceSettings) else DispatchSettings()


def _generator(settings: DaemonSettings) -> GeneratorSettings:
    """Return the settings of the memory generator; a device writes no memory for others."""
    return settings.composition if isinstance(settings, CloudSettings) else GeneratorSettings()


def _weighing(settings: AggregationSettings) -> SharedSettings:
    return SharedSettings(
        settings.relevance_temperature,
        settings.wire_mass,
        settings.min_evidence,
        settings.contrast,
        trusts=settings.trust_cloud,
    )
