"""Limits for a file in the process that reads it, and in the one that recognises text."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """The limits of one process in a sandbox. One over `worn_bytes` is restarted, before its next file lacks memory."""

    memory_bytes: int
    worn_bytes: int
    first_s: float  # of a processor
    s_per_mib: float  # more, for each MiB of the file
    max_s: float
    recognises: bool = False

    def processor_s(self, size: int) -> float:
        """Seconds of a processor that a file of that many bytes may take."""
        return min(self.first_s + self.s_per_mib * size / 2**20, self.max_s)


READING = Limits(768 << 20, 288 << 20, 7.0, 2.0, 30.0)  # sound files take a second for each MiB at most
RECOGNITION = Limits(1536 << 20, 1024 << 20, 60.0, 240.0, 3600.0, recognises=True)  # a MiB may be fifty pages
