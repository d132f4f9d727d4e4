"""Command-line options of a benchmark, declared once, in its Settings.

    @dataclass(frozen=True)
    class Settings:
        prompts: Annotated[int, Option("How many prompts.", min=1)] = 30
        rtts_ms: Annotated[Sequence[int], Option("Emulated round trips, ms.", name="--rtt", min=0)] = (0, 100, 300)

A field without an Option is a setting that the command line leaves as it is. A sequence is given with commas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """A field's option on the command line: what its type and its default value do not say."""

    help: str
    name: str = ""  # such as "--rtt"; empty: the field's own name
    min: float | None = None  # of the number, or of each number of a sequence
    max: float | None = None
    metavar: str | None = None
    choices: Sequence[str] = ()  # of the word, or of each word of a sequence; empty: any
