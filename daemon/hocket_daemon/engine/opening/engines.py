"""The choice of an engine: llama.cpp for a GGUF file, transformers for others; vLLM or a server on request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Side

from ...privacy.egress import EgressSettings, Ledger, PeerGate, ServerPolicy
from ...privacy.link_switch import LinkSwitch
from ..backends.automatic import automatic, place_of, resolved
from ..backends.format_choice import chosen, reported
from ..backends.llamacpp.gguf_model import SUFFIX, GGUFModel
from ..backends.server.logprob_model import LogprobModel
from ..backends.server.remote_model import RemoteModel
from ..catalog.store import SHIPPED, is_installed
from ..generators.server import completions_of, server_of
from ..settings import AUTO, KVSettings, ModelSettings, ServerSettings
from .trial import try_out

if TYPE_CHECKING:
    from ..backends.transformers.transformers_model import TransformersModel
    from ..backends.vllm.vllm_model import VllmModel


def open_model(
    settings: ModelSettings, side: Side, kv: KVSettings | None = None
) -> GGUFModel | TransformersModel | VllmModel:
    """The model that a configuration describes for a side. Raises BadConfiguration."""
    auto = automatic().why if settings.name == AUTO else ""
    settings = replace(settings, name=resolved(settings.name))
    if settings.engine == "vllm":
        from ..backends.vllm.vllm_model import VllmModel  # half a minute of imports

        return VllmModel(settings, side)
    place, why = place_of(settings.name, side), ""
    if is_installed(settings.name) or reported(Path(place)):
        found, why = chosen(Path(place), settings.dtype)
        place = str(found)
    why = "; ".join(filter(None, (auto, why)))
    if settings.name not in SHIPPED:
        try_out(Path(place).expanduser())
    if place.endswith(SUFFIX):
        return GGUFModel(settings, Path(place).expanduser(), kv, why)
    from ..backends.transformers.transformers_model import (
        TransformersModel,  # seconds and memory that llama.cpp does not need
    )

    return TransformersModel(settings, side, kv, why)


def remote_model(
    settings: ModelSettings, server: ServerSettings, side: Side, policy: ServerPolicy | None = None
) -> RemoteModel:
    """Return the local part of a model that a server runs; `policy` rules what it is sent. Raises BadConfiguration."""
    address = server_of(server)
    if address is None:
        raise BadConfiguration('[model] engine is "openai", but there is no server', "set url and model in [server]")
    place = Path(place_of(settings.name, side)).expanduser()
    folder = place.parent if place.suffix == SUFFIX else place
    if settings.name not in SHIPPED:
        try_out(folder)
    if not server.logprobs:
        return RemoteModel(settings, folder, server.model, address.place)
    policy = policy or ServerPolicy(EgressSettings(), Ledger(None), LinkSwitch())
    gate = PeerGate(policy.egress, address.host, policy.ledger, side)
    return LogprobModel(settings, folder, completions_of(server), server, gate=gate, switch=policy.switch)
