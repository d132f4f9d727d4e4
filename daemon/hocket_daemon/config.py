"""The configuration of the two daemons: frozen records, the only place of their defaults."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, Endpoint, FilePath
from hocket_bus.endpoints import ANY
from hocket_bus.log import Format, Level

from .aggregation.settings import AggregationSettings, GroupSettings
from .composition.settings import CompositionSettings, GeneratorSettings
from .dispatch.settings import DispatchSettings
from .engine.settings import KVSettings, ModelSettings, ServerSettings
from .graph.settings import FederationSettings, GateSettings
from .privacy.egress import EgressSettings, ServerEgressSettings


class DaemonSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that both daemons have."""

    endpoint: Annotated[
        Endpoint,
        Meta(
            description="where the daemon listens: `ipc://path`, or `tcp://address:port`, where the address "
            f"`{ANY}` stands for all of this machine's; over tcp its streams go out at the port after it"
        ),
    ]
    advertise: Annotated[
        str,
        Meta(
            description="where others reach it, where `endpoint` is another address or port, as behind NAT or in "
            "a container: `tcp://host:port` (docs/servers.md)"
        ),
    ] = ""
    advertise_streams: Annotated[
        int,
        Meta(
            ge=0,
            lt=1 << 16,
            description="the port there at which others read its streams; 0: the one after the port of `advertise`",
        ),
    ] = 0
    retrieval: Annotated[Endpoint, Meta(description="where this side's retrieval daemon listens")]
    model: ModelSettings = ModelSettings()
    kv: KVSettings = KVSettings()
    aggregation: AggregationSettings = AggregationSettings()
    server: ServerSettings = ServerSettings()
    egress: ServerEgressSettings = ServerEgressSettings()
    name: Annotated[str, Meta(max_length=64, description="what this daemon calls itself towards others")] = ""
    max_sessions: Annotated[
        int,
        Meta(
            ge=1,
            description="sessions at once, of clients and of devices; "
            "more are told `busy` and when to try again (docs/engine.md)",
        ),
    ] = 8
    log_bytes: Annotated[
        int, Meta(ge=1 << 16, description="bytes that are kept of a stream, so that its reader can resume"), FOR_EXPERTS
    ] = 1 << 20
    client_silence_s: Annotated[
        float, Meta(gt=0, description="an answer ends when its client has said nothing for this long"), FOR_EXPERTS
    ] = 25.0
    keys: Annotated[
        FilePath,
        Meta(description="the folder of this machine's keys, which tcp needs; empty: where `hocket keys` keeps them"),
    ] = ""
    drain_s: Annotated[
        float, Meta(ge=0, le=20, description="how long SIGTERM lets requests in work go on, up to 20"), FOR_EXPERTS
    ] = 20.0
    decisions: Annotated[
        FilePath, Meta(description="the file of decision records, for `hocket explain`; empty: none are kept")
    ] = ""
    metrics: Annotated[
        str,
        Meta(description="where Prometheus may read metrics (docs/watch.md), such as `127.0.0.1:9464`; empty: nowhere"),
    ] = ""
    log_level: Annotated[Level, Meta(description="`debug`, `info`, `warning` or `error`")] = "info"
    log_format: Annotated[Format, Meta(description="`json`, `people`, or `auto`: for people at a terminal")] = "auto"


class DeviceSettings(DaemonSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The device daemon: a language model that answers together with the cloud."""

    cloud: Annotated[
        Endpoint,
        Meta(
            description="where the cloud daemon listens: `tcp://host:port`, the host by name, by IPv4 or as `[IPv6]`; "
            "`members`: the two for this device of the signed list (docs/members.md); "
            "empty: the device always answers alone"
        ),
    ] = ""
    egress: EgressSettings = EgressSettings()
    dispatch: DispatchSettings = DispatchSettings()
    composition: CompositionSettings = CompositionSettings()
    gate: GateSettings = GateSettings()
    group: GroupSettings = GroupSettings()


class CloudSettings(DaemonSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cloud daemon: a language model that answers together with devices."""

    composition: GeneratorSettings = GeneratorSettings()
    federation: FederationSettings = FederationSettings()
    silence_s: Annotated[
        float, Meta(gt=0, description="a session is freed when its device has said nothing for this long"), FOR_EXPERTS
    ] = 30.0
