"""A model of this machine checked as a daemon would run it."""

from __future__ import annotations

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.catalog.checking import MANY, Check, check
from hocket_daemon.engine.catalog.voices import open_voice
from hocket_daemon.engine.settings import ModelSettings
from hocket_daemon.engine.voice import Voice
from hocket_tools.models.described import described

CONTEXT = 256


def checked(name: str, dtype: str, against: str) -> Check:
    """The check of `name`'s weights in `dtype`, beside those of `against` in float32.

    Raises BadConfiguration, also for what is not on this machine: nothing is downloaded here.
    """
    for each in (name, against):
        described(each)
    voice = _voice(name, dtype)
    if name == against and voice.precision == "float32":
        return check(voice, None)
    reference = _voice(against, "float32")
    if voice.fingerprint != reference.fingerprint:
        raise BadRequest(f"'{name}' and '{against}' have different tokenizers", "name the same model's float weights")
    return check(voice, reference)


def settings(name: str, dtype: str) -> ModelSettings:
    """Of a voice that is checked."""
    return ModelSettings(name=name, dtype=dtype, slots=MANY, context=CONTEXT)


def _voice(name: str, dtype: str) -> Voice:
    return open_voice(settings(name, dtype), "device")
