"""What a reader is told with the first token: whether whoever begins has read anything about the question. Pure."""

from __future__ import annotations

from hocket_bus.messages import Passages, Side

from ..serving.evidence import doubt, scores_of
from .writers import CloudWriter

MODELS_OWN = "the model's own answer, which may be invented: whoever begins it has read no document"


def notice_of(writer: Side, found: Passages | None, cloud: CloudWriter | None, minimum: float) -> str:
    """A line, or nothing; `found` is what the device has found. That a server reads nothing goes without saying."""
    if writer == "device":
        scores = scores_of(found) if found is not None else []
    elif cloud is None or not cloud.is_linked:
        return ""
    else:
        standing = cloud.standing
        scores = [(standing.scorer, standing.best)] if standing is not None and standing.documents else []
    return doubt(scores, minimum) if scores else MODELS_OWN
