"""Whether anything that was read is about the question, and what a reader is told where nothing is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.messages import Passages

_CALIBRATED = "cosine:"  # what scorers are called whose scores the bound is for


def scores_of(found: Passages) -> list[tuple[str, float]]:
    """Scorer and score of each passage."""
    return [(found.scorer, passage.score) for passage in found.passages]


def nearest(found: Passages) -> float:
    """The best score, -1 where there is no passage."""
    return max((passage.score for passage in found.passages), default=-1.0)


def is_about(found: Passages, minimum: float) -> bool:
    """Whether a passage scores `minimum`, in [-1, 1]; of scorers of another scale none does."""
    return found.scorer.startswith(_CALIBRATED) and nearest(found) >= minimum


def doubt(found: Sequence[tuple[str, float]], minimum: float) -> str:
    """What to tell where no passage scores `minimum`, in [-1, 1]; empty for others, and by scorers of another scale."""
    if not found or not all(scorer.startswith(_CALIBRATED) for scorer, _ in found):
        return ""
    best = max(score for _, score in found)
    if best >= minimum:
        return ""
    return (
        "probably not in your documents, so the answer may be invented: the nearest passage matches by "
        f"{best:.2f}, less than {minimum:g}"
    )
