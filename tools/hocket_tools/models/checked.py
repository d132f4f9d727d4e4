"""A model of this machine checked as a daemon would run it."""

from __future__ import annotations

import torch

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.checking import MANY, Check, check
from hocket_daemon.engine.loading import dtype_of
from hocket_daemon.engine.settings import ModelSettings
from hocket_daemon.engine.transformers_voice import TransformersVoice
from hocket_tools.models.described import described

CONTEXT = 256


def checked(name: str, dtype: str, against: str) -> Check:
    """The check of `name`'s weights in `dtype`, beside those of `against` in float32.

    Raises BadConfiguration, also for what is not on this machine: nothing is downloaded here.
    """
    for each in (name, against):
        described(each)
    voice, reference = _voice(name, dtype), _voice(against, "float32")
    if voice.fingerprint != reference.fingerprint:
        raise BadRequest(f"'{name}' and '{against}' have different tokenizers", "name the same model's float weights")
    used = dtype_of(dtype, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    return check(voice, reference, str(used).removeprefix("torch."))


def _voice(name: str, dtype: str) -> TransformersVoice:
    return TransformersVoice(ModelSettings(name=name, dtype=dtype, slots=MANY, context=CONTEXT), "device")
