"""The wait of an answer for a party that is at work and says so: progress is waited for, silence is not."""

from __future__ import annotations

REPORT_S = 0.5  # between two reports of a party that reads its prompt, or decodes a step that takes so long
OWN_ANSWERS = 3.0  # the asked side would have written its own answer so many times by then
LEAST_S = 20.0  # a shorter wait would leave a larger model on a busy machine behind


def longest_wait_s(set_s: float, own_answer_s: float) -> float:
    """The longest wait for a party that reports progress, in seconds: what the owner has set, 0 being the default.

    `own_answer_s` is how long the asked side is expected to take for an answer of its own; 0 where that is not known.
    """
    return set_s or max(LEAST_S, OWN_ANSWERS * own_answer_s)
