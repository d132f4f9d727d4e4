"""The notice with the first token: whether the side that begins has read anything about the question. Pure."""

from __future__ import annotations

from hocket_bus.messages import Passages, Prompt, Side

from ..serving.search.attributes import untold_line
from ..serving.search.evidence import OFF, doubt, scores_of
from .writers.writers import CloudWriter

MODELS_OWN = "the model's own answer, which may be invented: the side that starts it has read no document"
Found = list[tuple[str, float]]  # scorer and evidence; none where there is no passage


def found_by(writer: Side, own: Passages | None, cloud: CloudWriter | None) -> Found | None:
    """Return what a side has found, `own` for the device; None if it reads nothing, or has not reported."""
    if writer == "device":
        return scores_of(own) if own is not None else None
    if cloud is None or not cloud.is_linked or cloud.writer_status is None:
        return None
    writer_status = cloud.writer_status
    return [(writer_status.scorer, writer_status.best)] if writer_status.documents else []


def doubt_of_all(own: Passages | None, cloud: CloudWriter | None, minimum: float, prompt: Prompt) -> str:
    """Return why nothing that either side has found answers the question; empty where something does, or may."""
    device, other = found_by("device", own, cloud), found_by("cloud", own, cloud)
    if device is None or (other is None and cloud is not None and cloud.is_linked):
        return ""
    if line := doubt([*device, *(other or [])], minimum):
        return line
    may_know = bool(other) and not doubt(other or [], minimum)  # what the cloud has read is not known here
    return "" if own is None or may_know or minimum <= OFF else untold_line(prompt, own)
