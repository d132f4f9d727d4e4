"""Whether anything that was read is about the question, and what a reader is told where nothing is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus.messages import Passages

_CALIBRATED = "cosine:"  # what scorers are called whose scores the bound is for
UNKNOWN = "I do not know. I have found nothing about this in the documents."
GUESS = "; to have it answered all the same, ask with --unknown answer"
INVENTED = ", so the answer may be invented"
MATCHED = 0.5  # of the question's words by their rarity, from where on a passage is about it whatever its cosine


def scores_of(found: Passages) -> list[tuple[str, float]]:
    """Scorer and evidence, none where there is no passage."""
    return [(found.scorer, nearest(found))] if found.passages else []


def nearest(found: Passages) -> float:
    """The best score, or how much a passage has of the question's words where it has most; -1 without a passage."""
    best = max((passage.score for passage in found.passages), default=-1.0)
    return max(best, found.matched) if found.matched >= MATCHED else best


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
    return f"probably not in your documents: the nearest passage matches by {best:.2f}, less than {minimum:g}"
