"""A model of this machine checked as a daemon would run it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hocket_bus.errors import BadRequest
from hocket_daemon.engine.backends.automatic import place_of
from hocket_daemon.engine.backends.format_choice import has_floats, report
from hocket_daemon.engine.backends.llamacpp.gguf_model import GGUFModel
from hocket_daemon.engine.catalog.catalogue import CATALOGUE
from hocket_daemon.engine.catalog.checking import MANY, Check, check, nats_of
from hocket_daemon.engine.catalog.store import is_installed, place
from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import ModelSettings
from hocket_tools.models.described import described

CONTEXT = 256


def checked(name: str, dtype: str, against: str) -> Check:
    """Check the weights of `name` in `dtype` beside the known figure of its float weights, or those of `against`.

    The result is stored beside a file that was installed by its name. Raises BadConfiguration, also for
    what is not on this machine: nothing is downloaded here.
    """
    for each in filter(None, (name, against)):
        described(each)
    model = _model(name, dtype)
    found = check(model, _floats(name, against, model))
    if isinstance(model, GGUFModel) and is_installed(name) and model.file.parent == place(name):
        report(place(name), [replace(found, model=model.file.name)])  # what `auto` and a daemon go by
    return found


def _floats(name: str, against: str, model: LanguageModel) -> float | None:
    """Return nats per token with float weights; None where these are the ones that are checked, or are not here."""
    if model.precision == "float32" and not against:
        return None
    if not against and name in CATALOGUE:
        return CATALOGUE[name].nats
    if not against and not has_floats(Path(place_of(name, "device"))):
        return None
    reference = _model(against or name, "float32")
    if model.fingerprint != reference.fingerprint:
        raise BadRequest(f"'{name}' and '{against}' have different tokenizers", "name the same model's float weights")
    return nats_of(reference)


def settings(name: str, dtype: str) -> ModelSettings:
    """Return the settings of a model that is checked."""
    return ModelSettings(name=name, dtype=dtype, slots=MANY, context=CONTEXT)


def _model(name: str, dtype: str) -> LanguageModel:
    return open_model(settings(name, dtype), "device")
