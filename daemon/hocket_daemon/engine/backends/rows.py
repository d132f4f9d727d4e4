"""Free rows and the length of each: what the memories of all engines have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hocket_bus.errors import BadConfiguration, BadRequest, Busy

from ..segments import Contents, Segment


class RowMemory:
    """Rows with a length each; an engine's own memory is behind them. Knows nothing of sessions."""

    def __init__(self, slots: int, context: int) -> None:
        """Create `slots` rows of at most `context` tokens."""
        self.context = context
        self.lengths = [0] * slots
        self._free = [True] * slots

    def check_bytes(self, needed: int, allowed: int) -> None:
        """Raise BadConfiguration where all rows take more bytes than are `allowed`; 0 allows any number."""
        if allowed and needed > allowed:
            raise BadConfiguration(
                f"{len(self.lengths)} slots of {self.context} tokens take {needed} bytes, expert.model.kv_bytes allows "
                f"{allowed}",
                "lower 'slots' or 'context', or raise 'kv_bytes'",
            )

    def check_room(self, segments: Sequence[Segment]) -> None:
        """Raise BadRequest where a row would outgrow the context: what it writes then would be another row's."""
        fed = ((row, len(ids)) for segment in segments for row, ids in zip(segment.rows, segment.tokens, strict=True))
        if any(self.lengths[row] + tokens > self.context for row, tokens in fed):
            text = f"a text does not fit into the model's context of {self.context} tokens"
            raise BadRequest(text, "make it shorter, or raise [model] context")

    def take(self, rows: int) -> list[int]:
        """Take free rows, now empty, neighbours if possible. Raises Busy, or BadRequest for more than there are."""
        if rows > len(self._free):
            raise BadRequest(
                f"the question needs {rows} rows, the model has {len(self._free)} slots", "ask for fewer documents"
            )
        free = [row for row, is_free in enumerate(self._free) if is_free]
        if len(free) < rows:
            raise Busy("all slots of the model are taken", "try again shortly, or raise 'slots' in the configuration")
        taken = next((part for part in _windows(free, rows) if part[-1] - part[0] == rows - 1), free[:rows])
        self.make_room(max(taken, default=-1) + 1)
        for row in taken:
            self._free[row] = False
            self.roll_back(row, 0)
        return taken

    def make_room(self, rows: int) -> None:
        """Provide memory for the first `rows` rows; an engine that takes all of it at the start has done so."""

    def declare(self, row: int, contents: Contents) -> None:
        """Accept any contents: what is read on this machine may be read."""

    def give_back(self, rows: Sequence[int]) -> None:
        """Free rows."""
        for row in rows:
            self._free[row] = True

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""
        self.lengths[row] = length


def _windows(rows: list[int], size: int) -> Iterator[list[int]]:
    return (rows[first : first + size] for first in range(len(rows) - size + 1))
