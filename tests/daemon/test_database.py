"""Laws of a daemon's small files: a reader beside a daemon that has just begun to write finds nothing, and no fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hocket_bus.errors import Unavailable
from hocket_daemon.database import rows_of, written
from hocket_daemon.privacy import disclosure_account, egress
from hocket_daemon.serving.records import decisions

OTHER = "CREATE TABLE IF NOT EXISTS other (number INTEGER)"
READERS: list[Callable[[Path], Sequence[object]]] = [
    disclosure_account.read,
    egress.read,
    lambda path: decisions.last(path, 9),
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", ["no byte", "another table"])
def test_a_file_without_the_table_has_no_rows(
    tmp_path: Path, reader: Callable[[Path], Sequence[object]], content: str
) -> None:
    path = tmp_path / "file.db"
    path.touch()
    if content == "another table":
        with written(path, OTHER):
            pass
    assert list(reader(path)) == []


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_no_database_is_named(tmp_path: Path, reader: Callable[[Path], Sequence[object]]) -> None:
    path = tmp_path / "file.db"
    path.write_text("not a database " * 100)
    with pytest.raises(Unavailable, match=r"file\.db cannot be read"):
        reader(path)


def test_reading_makes_no_file(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "none.db", "other", "SELECT * FROM other") == []
    assert not (tmp_path / "none.db").exists()
