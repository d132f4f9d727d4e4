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
            description=f"address to listen at: `ipc://path`, or `tcp://address:port`, where `{ANY}` stands for "
            "all addresses of this machine; over tcp, streams use the next port"
        ),
    ]
    advertise: Annotated[
        str,
        Meta(
            description="address at which others reach this daemon, if `endpoint` has another address or port, "
            "as behind NAT or in a container: `tcp://host:port` (docs/servers.md)"
        ),
    ] = ""
    advertise_streams: Annotated[
        int,
        Meta(
            ge=0,
            lt=1 << 16,
            description="port of that address at which others read its streams; 0: the one after the port of "
            "`advertise`",
        ),
    ] = 0
    retrieval: Annotated[Endpoint, Meta(description="address of this side's retrieval daemon")]
    model: ModelSettings = ModelSettings()
    kv: KVSettings = KVSettings()
    aggregation: AggregationSettings = AggregationSettings()
    server: ServerSettings = ServerSettings()
    egress: ServerEgressSettings = ServerEgressSettings()
    name: Annotated[str, Meta(max_length=64, description="name that this daemon shows to others")] = ""
    max_sessions: Annotated[
        int,
        Meta(
            ge=1,
            description="maximum number of concurrent sessions, of clients and devices; further ones are refused "
            "as `busy`, with a time to try again (docs/engine.md)",
        ),
    ] = 8
    log_bytes: Annotated[
        int, Meta(ge=1 << 16, description="bytes kept of each stream, so that its reader can resume"), FOR_EXPERTS
    ] = 1 << 20
    client_silence_s: Annotated[
        float, Meta(gt=0, description="an answer ends when its client has been silent for this long"), FOR_EXPERTS
    ] = 25.0
    keys: Annotated[
        FilePath,
        Meta(description="folder of this machine's keys, required for tcp; empty: the folder that `hocket keys` uses"),
    ] = ""
    drain_s: Annotated[
        float,
        Meta(ge=0, le=20, description="how long running requests may continue after SIGTERM, up to 20"),
        FOR_EXPERTS,
    ] = 20.0
    decisions: Annotated[
        FilePath, Meta(description="file of decision records, for `hocket explain`; empty: no records")
    ] = ""
    metrics: Annotated[
        str,
        Meta(
            description="address at which Prometheus can read metrics (docs/watch.md), such as `127.0.0.1:9464`; "
            "empty: none"
        ),
    ] = ""
    log_level: Annotated[Level, Meta(description="`debug`, `info`, `warning` or `error`")] = "info"
    log_format: Annotated[
        Format, Meta(description="`json`, `people` (plain text), or `auto`: plain text on a terminal, else JSON")
    ] = "auto"


class DeviceSettings(DaemonSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The device daemon: a language model that answers together with the cloud."""

    cloud: Annotated[
        Endpoint,
        Meta(
            description="address of the cloud daemon: `tcp://host:port`, with a host name, an IPv4 address or "
            "`[IPv6]`; `members`: the two daemons for this device in the signed list (docs/members.md); empty: "
            "the device always answers alone"
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
        float, Meta(gt=0, description="a session is freed when its device has been silent for this long"), FOR_EXPERTS
    ] = 30.0
