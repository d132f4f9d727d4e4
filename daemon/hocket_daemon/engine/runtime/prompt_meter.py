"""The progress of reading a prompt, and the time left: counted on the compute thread, asked on the main one."""

from __future__ import annotations

import time


class PromptMeter:
    """The tokens of one prompt, of all its rows together."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._tokens = 0
        self._read = 0

    def expect(self, tokens: int) -> None:
        """Set the number of `tokens` to be read; those whose KV is stored are not among them."""
        self._tokens = tokens

    def add(self, tokens: int) -> None:
        """Count `tokens` that a pass has read."""
        self._read += tokens

    @property
    def read(self) -> float:
        """The part of the prompt that is read, in [0, 1]; 0 before its length is known."""
        return min(1.0, self._read / self._tokens) if self._tokens else 0.0

    def left_s(self, token_s: float) -> float:
        """Return the seconds that the rest of the prompt takes; 0 while they cannot be estimated.

        Its own pace decides once a pass is made, the time that it waited for others included; before that `token_s`
        does, the seconds of one token as earlier prompts took them.
        """
        pace_s = (time.monotonic() - self._began_s) / self._read if self._read else token_s
        return max(0, self._tokens - self._read) * pace_s
