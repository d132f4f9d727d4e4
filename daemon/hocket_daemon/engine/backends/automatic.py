"""Resolution of a model's name on this machine; `auto` is the best installed model with bearable speed and memory.

`hocket model get` measures a file when it has got it (checking.py); nothing is measured at a start.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Side
from hocket_bus.paths import expanded, models

from ..catalog.catalogue import CATALOGUE, DEFAULT, HubFile, Known
from ..catalog.checking import Check
from ..catalog.machine import memory_bytes
from ..catalog.store import SHIPPED, is_installed, place
from ..settings import AUTO, BUNDLED, TUNED
from .format_choice import has_floats, has_gpu, reported

MAX_STEP_MS = 150.0  # of two rows: about six tokens a second, as people read
MAX_PROMPT_MS = 15.0  # of a token: two passages and a question are about 200
_OF_EMBEDDERS = "modules.json"  # a file in the folders of sentence-transformers
_BESIDE = 400_000_000  # bytes of a daemon beside its weights: a few rows, and Python


class Automatic(NamedTuple):
    """The model that `auto` stands for, the reason, and how to get the next better one; empty where there is none."""

    name: str
    why: str
    better: str


def automatic() -> Automatic:
    """The model of most weights among those of the catalogue that are here and bearable, else the one of fewest."""
    here = {name: known for name, known in CATALOGUE.items() if is_installed(name)}
    if not here:
        why = f"{DEFAULT} is not on this machine"
        return Automatic(BUNDLED, why, f"{why}; it answers better: hocket model get {DEFAULT}")
    bearable = {name: known for name, known in here.items() if not _slow(name, known)}
    if not bearable:
        name, known = min(here.items(), key=lambda each: each[1].millions)
        return Automatic(name, f"auto: the smallest model here, though {_slow(name, known)}", "")
    name, known = max(bearable.items(), key=lambda each: each[1].millions)
    check = quickest(name)
    measured = f", {check.step_ms:.0f} ms a step (limit {MAX_STEP_MS:.0f})" if check is not None else ""
    return Automatic(name, f"auto: the best model here{measured}", _better(name, known))


def resolved(name: str) -> str:
    """The model that `auto` means on this machine; any other name means itself."""
    return automatic().name if name == AUTO else name


def advice(name: str) -> str:
    """Advise how to get a better model than `auto` is here; empty where there is none, or where a model is named."""
    return automatic().better if name == AUTO else ""


def fallback_notice(name: str, side: Side) -> str:
    """Warn that a side answers with the bundled model only because none was got; empty elsewhere."""
    if name != AUTO or resolved(name) != BUNDLED:
        return ""
    remedy = f'hocket model get {DEFAULT}, or keep it with [model] name = "{BUNDLED}"'
    return f"the {side} uses the small bundled model, as none was chosen: there, run {remedy}"


def place_of(name: str, side: Side) -> str:
    """The folder or Hugging Face name of the model that `name` means on a side. Raises BadConfiguration."""
    name = resolved(name)
    _check_writes(name)
    if is_installed(name):
        return str(place(name))
    if name in CATALOGUE:
        raise BadConfiguration(
            f"the model '{name}' is not in {models()}", f'run: hocket model get {name}; or set [model] name = "bundled"'
        )
    if name not in SHIPPED:
        return name
    import hocket_models

    return str(hocket_models.path(side if name == BUNDLED else name))


def _check_writes(name: str) -> None:
    folder = place(name) if is_installed(name) else expanded(Path(name))
    if (folder / _OF_EMBEDDERS).is_file():
        raise BadConfiguration(
            f"'{name}' is an embedder: it finds documents, and writes no text",
            "name a language model (hocket model list); embedders are for `embedder` of a retrieval daemon",
        )


def tuned(name: str) -> str:
    """The shipped model that is tuned for composition, of the model that `name` means here; empty: there is none."""
    import hocket_models

    model = TUNED.get(resolved(name), "")
    return model if model and hocket_models.path(model).is_dir() else ""


def memory_of(size: int) -> int:
    """Bytes that a daemon takes with weights of `size` bytes, about."""
    return size + _BESIDE


def fits(memory: int) -> bool:
    """Check that `memory` bytes are at most half of this machine's."""
    return 2 * memory <= memory_bytes()


def _slow(name: str, known: Known) -> str:
    """Say why an installed model is not bearable; empty where it is, or where nothing was measured."""
    if has_floats(place(name)) and has_gpu():
        return ""
    if not fits(memory_of(known.bytes)):
        return "it takes more than half of this machine's memory"
    check = quickest(name)
    if check is not None and check.step_ms > MAX_STEP_MS:
        return f"a step takes {check.step_ms:.0f} ms (limit {MAX_STEP_MS:.0f})"
    if check is not None and check.prompt_ms > MAX_PROMPT_MS:
        return f"a prompt token takes {check.prompt_ms:.1f} ms (limit {MAX_PROMPT_MS:.0f})"
    return ""


def quickest(name: str) -> Check | None:
    """The check with the shortest step, of the model's formats that were not refused; None where none was checked."""
    sound = [check for check in reported(place(name)) if not check.refused]
    return min(sound, key=lambda check: check.step_ms, default=None)


def _better(name: str, known: Known) -> str:
    """Return how to get the next better model, or why it is not taken although it is here."""
    larger = [(other, better) for other, better in CATALOGUE.items() if better.millions > known.millions]
    for other, better in sorted(larger, key=lambda each: each[1].millions):
        if is_installed(other):
            return f'{other} answers better, but {_slow(other, better)}; to use it, set [model] name = "{other}"'
        if _is_for_here(name, known, better):
            return f"{other} answers better ({better.bytes / 1e6:.0f} MB): hocket model get {other}, for both sides"
    return ""


def _is_for_here(name: str, known: Known, better: Known) -> bool:
    """Check that it comes without a hub and that its step, scaled by the number of weights, would be bearable."""
    if better.gguf is None or isinstance(better.gguf, HubFile) or not fits(memory_of(better.bytes)):
        return False
    check = quickest(name)
    return check is None or check.step_ms * better.millions / known.millions <= MAX_STEP_MS
