"""Laws of the cloud's index: whose summary is whose, what is forgotten, and that names find their device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_bus.messages import MAX_SUMMARIES
from hocket_retrieval.errors import QueryError
from hocket_retrieval.graph import summary_index
from hocket_retrieval.graph.summary_index import Summary, SummaryIndex
from toys import ToyEmbedder

BOAT = Summary(1, 1, "Names: Halcyon; Marstal. Topics: sailing boat; berth.")
CHOIR = Summary(1, 1, "Names: Vox Borealis. Topics: choir; chapel.")


@pytest.fixture
def clock() -> list[float]:
    return [1_000.0]


@pytest.fixture
def index(tmp_path: Path, clock: list[float]) -> Iterator[SummaryIndex]:
    made = SummaryIndex(tmp_path / "summaries.sqlite", ToyEmbedder(), lambda: clock[0])  # type: ignore[arg-type]
    yield made
    made.close()


def test_names_find_their_device_and_only_asked_devices_are_found(index: SummaryIndex) -> None:
    """Best first."""
    index.keep("ben", "b", [BOAT])
    index.keep("carl", "c", [CHOIR])
    found = index.match("Where does the Halcyon lie?", ["ben", "carl", "nobody"])
    assert [each.device for each in found] == ["ben", "carl"]
    assert found[0].score > found[1].score
    assert [each.device for each in index.match("Where does the Halcyon lie?", ["carl"])] == ["carl"]
    assert index.match("Where?", []) == []


def test_each_device_is_found_once_by_its_best_summary(index: SummaryIndex) -> None:
    """However many of its summaries match better than another device's."""
    index.keep("ben", "b", [BOAT, Summary(2, 1, "Names: Halcyon, Marstal."), Summary(3, 1, "Names: Halcyon.")])
    index.keep("carl", "c", [CHOIR])
    found = index.match("Where does the Halcyon lie?", ["carl", "ben"])
    assert [each.device for each in found] == ["ben", "carl"]
    assert found[0].score > found[1].score


def test_a_device_changes_its_own_alone(index: SummaryIndex) -> None:
    """The same id of another device is another's."""
    index.keep("ben", "b", [BOAT])
    index.keep("carl", "c", [CHOIR])
    index.keep("carl", "c", [], dropped=[1, 2, 3])
    assert (index.held("ben"), index.held("carl")) == ([(1, 1)], [])
    index.keep("ben", "b", [Summary(1, 2, "Names: Undine.")])
    assert index.texts("ben", 0, 10) == [Summary(1, 2, "Names: Undine.")]
    assert index.match("Where is the Undine?", ["ben"])[0].score > 0.5


def test_another_store_takes_the_place_of_all(index: SummaryIndex) -> None:
    """Its versions mean nothing beside the old ones."""
    index.keep("ben", "b", [BOAT, Summary(2, 9, "Names: Old.")])
    index.keep("ben", "new", [])
    assert index.held("ben") == []
    assert index.match("Where is Old?", ["ben"]) == []


def test_devices_expire_by_name_and_by_time(index: SummaryIndex, clock: list[float]) -> None:
    """Who greets stays."""
    for name in ("ben", "carl", "dora"):
        index.keep(name, name, [BOAT])
    clock[0] += 50.0
    index.keep("carl", "carl", [])
    clock[0] += 60.0
    assert sorted(index.expire(["ben", "carl"], 100.0)) == ["ben", "dora"]
    assert [name for name in ("ben", "carl", "dora") if index.held(name)] == ["carl"]


def test_what_is_forgotten_is_in_no_page_of_the_file(index: SummaryIndex, tmp_path: Path) -> None:
    """Neither is its log."""
    index.keep("ben", "b", [BOAT])
    index.drop("ben")
    for path in tmp_path.iterdir():
        assert b"Halcyon" not in path.read_bytes()


def test_too_many_are_refused_and_nothing_is_lost(index: SummaryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a line that says what to do."""
    monkeypatch.setattr(summary_index, "MAX_SUMMARIES", 2)
    assert MAX_SUMMARIES > 2
    index.keep("ben", "b", [BOAT, Summary(2, 1, "Names: Two.")])
    with pytest.raises(QueryError, match=r"raise graph.entities under \[expert\]"):
        index.keep("ben", "b", [Summary(3, 1, "Names: Three.")])
    assert index.held("ben") == [(1, 1), (2, 1)]


def test_it_is_the_same_after_a_restart_and_with_another_embedder(tmp_path: Path) -> None:
    """Vectors of an embedder that was configured before are made anew."""
    path = tmp_path / "summaries.sqlite"
    for name in ("one", "one", "other"):
        index = SummaryIndex(path, ToyEmbedder(name))  # type: ignore[arg-type]
        index.keep("ben", "b", [BOAT] if not index.held("ben") else [])
        assert index.match("sailing boat Halcyon", ["ben"])[0].score > 0.4
        index.close()
