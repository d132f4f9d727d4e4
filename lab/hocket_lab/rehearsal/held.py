"""A compute thread whose work takes at least as long as is set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from hocket_bus.errors import HocketError
from hocket_daemon.engine.preemption import Interrupt, Preempted, Together
from hocket_daemon.engine.runtime.compute import Compute, Decoded, DecodeRequest, Post, Prompt, Read
from hocket_daemon.engine.runtime.sequences import Prefill, SequenceGroup, metered
from hocket_daemon.engine.sampling.heads import Heads

T = TypeVar("T")


class Hold(NamedTuple):
    """The least time to read a prompt: `each_s` l + `seconds`, l being the tokens that were read.

    Both are seconds, at least 0.
    """

    each_s: float = 0.0
    seconds: float = 0.0


class HeldCompute(Compute):
    """A compute thread whose decoding passes take at least `decode_s`, and whose prompts are held by `prompts`.

    The n-th prompt takes what the n-th of `prompts` says; later ones are not held. A wait is interrupted like a pass
    that takes so long by itself.
    """

    def __init__(self, post: Post, read: Read, decode_s: float = 0.0, prompts: Iterable[Hold] = ()) -> None:
        self.decode_s = decode_s
        self._prompt_holds: Iterator[Hold] = iter(prompts)
        super().__init__(post, read)

    def prefill(
        self,
        passes: Prefill[T],
        interrupt: Interrupt,
        done: Callable[[T | HocketError | Preempted], None],
        *,
        urgent: bool = False,
    ) -> None:
        """Read a prompt as any compute thread does, and hold it."""
        hold = next(self._prompt_holds, None)
        super().prefill(_held(passes, hold, interrupt) if hold else passes, interrupt, done, urgent=urgent)

    def together(
        self, requests: Sequence[DecodeRequest[Any]], prompt: Prompt | None
    ) -> tuple[list[Decoded[Any]], Heads]:
        """Compute as any compute thread does, and hold decoding. Raises Preempted when nobody wants it any more."""
        until_s = time.monotonic() + self.decode_s
        made = super().together(requests, prompt)
        if requests and self.decode_s:
            given_up = Together([request.interrupt for request in requests]).wait(until_s - time.monotonic())
            if given_up and prompt is None:
                raise Preempted
        return made


def _held(passes: Prefill[T], hold: Hold, interrupt: Interrupt) -> Prefill[T]:
    """Run the same passes, and end no sooner than `hold` says."""
    began_s, tokens = time.monotonic(), list[int]()
    read = yield from metered(passes, tokens.append)
    _wait(read, began_s + hold.each_s * sum(tokens) + hold.seconds, interrupt)
    return read


def _wait(read: object, until_s: float, interrupt: Interrupt) -> None:
    left_s = until_s - time.monotonic()
    if left_s > 0 and interrupt.wait(left_s):
        if isinstance(read, SequenceGroup):
            read.close()
        raise Preempted
