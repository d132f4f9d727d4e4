"""Sampling parameters of an answer, from either API to the client's options."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_client import Options


def drawn(
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    stop: str | Sequence[str] | None = None,
    logprobs: int | None = None,
) -> Options:
    """Return the options that were given; a seed of any size or sign is reduced to 64 bits."""
    options = Options()
    if max_tokens is not None:
        options["max_tokens"] = max_tokens
    if temperature is not None:
        options["temperature"] = temperature
    if top_p is not None:
        options["top_p"] = top_p
    if seed is not None:
        options["seed"] = seed % (1 << 64)
    if stop:
        options["stop"] = stop if isinstance(stop, str) else tuple(stop)
    if logprobs is not None:
        options["logprobs"] = logprobs
    return options
