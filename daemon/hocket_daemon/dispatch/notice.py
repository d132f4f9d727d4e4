"""The notice with the first token: whether the side that begins has read anything about the question. Pure."""

from __future__ import annotations

from hocket_bus.messages import Passages, Prompt, Side

from ..serving.search.evidence import doubt_of_all, scores_of
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


def doubt_of_both(own: Passages | None, cloud: CloudWriter | None, minimum: float, prompt: Prompt) -> str:
    """Return why nothing that either side has found answers the question; empty where something does, or may."""
    other = found_by("cloud", own, cloud)
    if own is None or (other is None and cloud is not None and cloud.is_linked):
        return ""
    return doubt_of_all(own, other or [], minimum, prompt)
