"""What can be asked: the client's view of Ask, with its checks and defaults."""

from __future__ import annotations

import os
import secrets

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Ask, Sampling, Task

DEFAULTS = Sampling()


def ask_message(
    question: str,
    *,
    topic: bytes,
    aggregation: str = "coupled",
    weights: str = "dynamic",
    task: Task = "answer",
    seed: int | None = None,
    max_tokens: int = DEFAULTS.max_tokens,
    temperature: float = DEFAULTS.temperature,
    top_p: float = DEFAULTS.top_p,
    documents: int = 2,
    stop: tuple[str, ...] = (),
    ignore_eos: bool = False,
    require_cloud: bool = False,
    alone: bool = False,
    deadline_s: float = 120.0,
) -> Ask:
    """An Ask ready to send; no seed means a random one. Raises BadRequest for values out of range."""
    checks = [
        (1 <= max_tokens <= 4096, f"max_tokens is {max_tokens}", "use 1 to 4096"),
        (0 <= temperature <= 10, f"temperature is {temperature}", "use 0 (greedy) to 10"),
        (0 < top_p <= 1, f"top_p is {top_p}", "use more than 0 and at most 1"),
        (0 <= documents <= 64, f"documents is {documents}", "use 0 to 64"),
        (seed is None or 0 <= seed < 1 << 64, f"seed is {seed}", "use 0 to 2^64 - 1"),
        (deadline_s > 0, f"deadline_s is {deadline_s}", "use more than 0"),
        (len(question) <= 100_000, f"the question has {len(question)} characters", "shorten it"),
        (len(stop) <= 16 and all(stop), "stop takes at most 16 strings, none empty", "use fewer"),
    ]
    for fine, text, remedy in checks:
        if not fine:
            raise BadRequest(text, remedy)
    return Ask(
        request=os.urandom(16),
        topic=topic,
        question=question,
        sampling=Sampling(
            temperature=temperature,
            top_p=top_p,
            seed=secrets.randbits(64) if seed is None else seed,
            max_tokens=max_tokens,
        ),
        aggregation=aggregation,
        weights=weights,
        task=task,
        documents=documents,
        stop=list(stop),
        ignore_eos=ignore_eos,
        require_cloud=require_cloud,
        alone=alone,
        deadline_s=deadline_s,
    )
