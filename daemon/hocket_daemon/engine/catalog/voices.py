"""Which engine reads a model: llama.cpp a GGUF file, transformers everything else."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from hocket_bus.messages import Side

from ..backends.gguf_voice import SUFFIX, GGUFVoice
from ..backends.loading import place_of
from ..backends.transformers_voice import TransformersVoice
from ..settings import KVSettings, ModelSettings
from .choice import chosen
from .published import PUBLISHED, advice, resolved


def open_voice(settings: ModelSettings, side: Side, kv: KVSettings | None = None) -> GGUFVoice | TransformersVoice:
    """The voice that a configuration describes for a side. Raises BadConfiguration."""
    why = advice(settings.name)
    settings = replace(settings, name=resolved(settings.name))
    place = place_of(settings.name, side)
    if settings.name in PUBLISHED:
        found, why = chosen(Path(place), settings.dtype)
        place = str(found)
    if place.endswith(SUFFIX):
        return GGUFVoice(settings, Path(place).expanduser(), kv, why)
    return TransformersVoice(settings, side, kv, why)
