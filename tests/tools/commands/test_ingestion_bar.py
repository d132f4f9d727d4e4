"""Laws of the line beside the bar of `hocket ingest`: it names what is done now, and how long all of that takes."""

from __future__ import annotations

from hocket_bus.messages import Progress
from hocket_tools.commands.library import documents


def told(done: int, *, waiting: bool = False, left_s: float = 75.0) -> tuple[str, str]:
    """Of a file with ten passages."""
    progress = Progress(
        request=bytes(16), files_done=0, files_total=1, chunks_done=done, chunks_total=10,
        current="/notes/long.txt", left_s=left_s, waiting=waiting,
    )  # fmt: skip
    return documents._doing(progress), documents._left(progress)


def test_the_storing_behind_the_last_passage_is_named() -> None:
    """With its own time, and not before; a job that waits stores nothing."""
    assert told(9) == ("long.txt", "0/1 files, 9/10 passages, about 0:01:15 left")
    assert told(10) == ("storing long.txt", "0/1 files, 10/10 passages, about 0:01:15 left")
    assert told(10, waiting=True) == ("waiting for long.txt", "0/1 files, 10/10 passages")


def test_no_time_is_told_where_nothing_is_known() -> None:
    """Nor where nothing is left."""
    assert told(0, left_s=0.0) == ("long.txt", "0/1 files, 0/10 passages")
