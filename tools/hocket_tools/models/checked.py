"""A model of this machine checked as a daemon would run it."""

from __future__ import annotations

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.catalog.checking import MANY, Check, check
from hocket_daemon.engine.catalog.engines import open_model
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.settings import ModelSettings
from hocket_tools.models.described import described

CONTEXT = 256


def checked(name: str, dtype: str, against: str) -> Check:
    """The check of `name`'s weights in `dtype`, beside those of `against` in float32.

    Raises BadConfiguration, also for what is not on this machine: nothing is downloaded here.
    """
    for each in (name, against):
        described(each)
    model = _model(name, dtype)
    if name == against and model.precision == "float32":
        return check(model, None)
    reference = _model(against, "float32")
    if model.fingerprint != reference.fingerprint:
        raise BadRequest(f"'{name}' and '{against}' have different tokenizers", "name the same model's float weights")
    return check(model, reference)


def settings(name: str, dtype: str) -> ModelSettings:
    """Of a model that is checked."""
    return ModelSettings(name=name, dtype=dtype, slots=MANY, context=CONTEXT)


def _model(name: str, dtype: str) -> LanguageModel:
    return open_model(settings(name, dtype), "device")
