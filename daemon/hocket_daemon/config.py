"""The configuration of the two daemons: frozen records, the only place of their defaults."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from hocket_bus.log import Format, Level

from .aggregation.settings import AggregationSettings
from .engine.stored import KVSettings
from .engine.transformers_voice import ModelSettings
from .privacy.egress import EgressSettings


class DaemonSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What both daemons are told."""

    endpoint: str  # where this daemon listens: ipc:///path or tcp://address:port; streams go out at its twin
    retrieval: str  # where this side's retrieval daemon listens
    model: ModelSettings = ModelSettings()
    kv: KVSettings = KVSettings()
    aggregation: AggregationSettings = AggregationSettings()
    name: Annotated[str, Meta(max_length=64)] = ""  # what this daemon calls itself towards others
    max_sessions: Annotated[int, Meta(ge=1)] = 8  # at once, clients' and devices'; more: "busy"
    log_bytes: Annotated[int, Meta(ge=1 << 16)] = 1 << 20  # what is kept of a stream, so that its reader can resume
    client_silence_s: Annotated[float, Meta(gt=0)] = 25.0  # an answer whose client is silent this long is ended
    keys: str = ""  # the folder of this machine's keys, which tcp needs; empty: where `hocket keys` keeps them
    drain_s: Annotated[float, Meta(ge=0, le=20)] = 20.0  # how long SIGTERM lets requests in work go on
    decisions: str = ""  # the file of decision records, for hocket explain; empty: none are kept
    metrics: str = ""  # where Prometheus may read figures, such as 127.0.0.1:9464; empty: nowhere
    log_level: Level = "info"
    log_format: Format = "auto"  # json, people, or auto: for people at a terminal


class DeviceSettings(DaemonSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The device daemon's file."""

    cloud: str = ""  # where the cloud daemon listens; empty: always answer alone
    egress: EgressSettings = EgressSettings()


class CloudSettings(DaemonSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The cloud daemon's file."""

    silence_s: Annotated[float, Meta(gt=0)] = 30.0  # a session whose device is silent this long is freed
