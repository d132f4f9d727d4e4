"""Laws of decision records: bounded, kept, for their owner only, and no trouble of theirs stops a daemon."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from fakes import part
from two_sides import CLOCKED, Clock, Sides, ask

from hocket_bus.errors import BadRequest, Unavailable
from hocket_daemon.serving.records import decisions
from hocket_daemon.serving.records.decisions import Decisions, forget, last, named

CANARY = "xyzzyplugh"


class Calendar:
    """In the place of `datetime`: every look is a minute later."""

    def __init__(self) -> None:
        self.at = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self, zone: object) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


@pytest.fixture(autouse=True)
def _calendar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "datetime", Calendar())


def number(n: int) -> bytes:
    return n.to_bytes(16, "big")


def keep(path: Path, *numbers: bytes, max_records: int = 100) -> None:
    kept = Decisions(path, max_records)
    for each in numbers:
        kept.keep(each, "echo", lambda each=each: {"number": each.hex(), "question": "Is it 2 > 1?"})  # type: ignore[misc]
    kept.close()


def test_the_newest_records_are_kept_whoever_wrote_them(tmp_path: Path) -> None:
    """The oldest go when there are too many, also those of a daemon that ran before; a number written again is one."""
    path = tmp_path / "new" / "kept.db"
    keep(path, *map(number, range(4)), max_records=3)
    assert [int(each.id, 16) for each in last(path, 10)] == [3, 2, 1]
    keep(path, number(9), number(2), max_records=3)
    found = last(path, 10)
    assert [int(each.id, 16) for each in found] == [2, 9, 3]
    assert [int(each.id, 16) for each in last(path, 1)] == [2]
    assert found[0].record == {"number": number(2).hex(), "question": "Is it 2 > 1?"}
    assert (found[0].mode, found[0].at) == ("echo", "2030-01-01T00:06:00.000+00:00")


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    """From its first byte on, and so is a folder that is made for it."""
    path = tmp_path / "new" / "kept.db"
    keep(path, number(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_record_is_found_by_how_its_number_begins(tmp_path: Path) -> None:
    """In digits of either case; none and several are one line each; signs that a database reads otherwise are signs."""
    path = tmp_path / "kept.db"
    keep(path, b"\xab\xcd" + bytes(14), b"\xab\xce" + bytes(14))
    assert named(path, "ABCD").id.startswith("abcd00")
    with pytest.raises(BadRequest, match=re.escape("several requests begin with 'ab': give more digits of its number")):
        named(path, "ab")
    for nothing in ("ff", "%", "ab__", "'"):
        with pytest.raises(BadRequest, match="hocket explain --list"):
            named(path, nothing)


@pytest.mark.parametrize("everything", [False, True])
def test_what_is_forgotten_is_in_the_file_no_more(everything: bool, tmp_path: Path) -> None:
    """Neither as a record nor as bytes; the others stay."""
    path = tmp_path / "kept.db"
    keep(path, number(1), number(2))
    assert forget(path, None if everything else [number(1).hex()]) == (2 if everything else 1)
    assert [int(each.id, 16) for each in last(path, 10)] == ([] if everything else [2])
    assert number(1).hex().encode() not in path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["kept.db"]
    assert forget(path, [number(1).hex()]) == 0
    with pytest.raises(Unavailable):
        forget(tmp_path / "none.db", None)


@pytest.mark.parametrize("broken", ["missing", "no database", "no record", "folder"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, broken: str) -> None:
    """With what to do; reading makes no file."""
    path = tmp_path / "kept.db"
    if broken == "no database":
        path.write_bytes(b"this is no database, but long enough for one" * 50)
    elif broken == "no record":
        keep(path, number(1))
        with sqlite3.connect(path) as database:
            database.execute("UPDATE decisions SET record = '{'")
    elif broken == "folder":
        path.mkdir()
    with pytest.raises(Unavailable) as caught:
        last(path, 1)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy.startswith("ask something first" if broken == "missing" else "move it away")
    assert path.exists() == (broken != "missing")


def test_without_a_file_nothing_is_recorded() -> None:
    """Not even asked for."""
    asked: list[str] = []
    kept = Decisions(None)
    kept.keep(number(1), "echo", lambda: {"asked": asked.append("once")})
    kept.close()
    assert asked == []


class ByHand:
    """In the place of the writer's thread: `work` does what was submitted."""

    def __init__(self, *_: object, **__: object) -> None:
        self.jobs: list[Callable[[], object]] = []

    def submit(self, job: Callable[..., object], *args: object) -> None:
        self.jobs.append(lambda: job(*args))

    def work(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> ByHand:
    """A writer that is as slow as a test wants."""
    by_hand = ByHand()
    monkeypatch.setattr(decisions, "ThreadPoolExecutor", lambda *_, **__: by_hand)
    return by_hand


def test_a_broken_disk_is_warned_of_once_and_stops_nothing(tmp_path: Path, writer: ByHand) -> None:
    """Until it works again; then the next trouble is told, too."""
    folder = tmp_path / "folder"
    kept = Decisions(folder / "kept.db")
    with structlog.testing.capture_logs() as logs:
        for n, works in enumerate([False, False, True, False, False]):
            if works:
                folder.unlink()
            elif not folder.is_file():
                shutil.rmtree(folder, ignore_errors=True)
                folder.write_text("no folder")
            kept.keep(number(n), "echo", dict)
            writer.work()
            assert not works or [int(each.id, 16) for each in last(folder / "kept.db", 5)] == [n]
    assert [log["event"] for log in logs] == ["decision records cannot be written"] * 2


def test_a_file_of_others_is_trouble_like_any_other(tmp_path: Path, writer: ByHand) -> None:
    """What cannot be opened is warned of, and takes no place of what waits."""
    (tmp_path / "kept.db").mkdir()
    kept = Decisions(tmp_path / "kept.db")
    with structlog.testing.capture_logs() as logs:
        for n in range(decisions.MAX_WAITING + 1):
            kept.keep(number(n), "echo", dict)
            writer.work()
    assert [log["event"] for log in logs] == ["decision records cannot be written"]
    (tmp_path / "kept.db").rmdir()
    kept.keep(number(7), "echo", dict)
    writer.work()
    assert [int(each.id, 16) for each in last(tmp_path / "kept.db", 5)] == [7]


def test_a_slow_disk_blocks_nobody_and_holds_a_bounded_number(
    tmp_path: Path, writer: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes while too many wait is dropped; there is room again once they are written."""
    monkeypatch.setattr(decisions, "MAX_WAITING", 5)
    kept = Decisions(tmp_path / "kept.db")
    for n in range(12):
        kept.keep(number(n), "echo", dict)
    assert len(writer.jobs) == 5
    writer.work()
    kept.keep(number(99), "echo", dict)
    writer.work()
    assert sorted(int(each.id, 16) for each in last(tmp_path / "kept.db", 50)) == [0, 1, 2, 3, 4, 99]


def test_a_record_that_json_cannot_hold_is_dropped_and_takes_no_room(
    tmp_path: Path, writer: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has it; those behind it are written."""
    monkeypatch.setattr(decisions, "MAX_WAITING", 2)
    kept = Decisions(tmp_path / "kept.db")
    with structlog.testing.capture_logs() as logs:
        for n in range(4):
            kept.keep(number(n), "echo", lambda: {"what": print})
            writer.work()
        kept.keep(number(9), "echo", dict)
        writer.work()
    assert [int(each.id, 16) for each in last(tmp_path / "kept.db", 5)] == [9]
    assert len(logs) == 1


# --- what a session's record says


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Sides, dict[str, object], dict[str, object]]]:
    """The records of both sides of one answer, as JSON has them."""
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)

    def made(*, broken: bool = False, **asked: Any) -> tuple[Sides, dict[str, object], dict[str, object]]:
        device = part("device", [f"Here {CANARY} sang."], seed=1)
        cloud = part("cloud", [f"There {CANARY} sang.", f"No {CANARY}."], seed=2)
        both = Sides(ask(question=f"Who is {CANARY}?", **asked), clock, device=device, cloud=cloud)
        leader = both.begin()
        if broken:
            while len(both.reader.tokens) < 2:
                assert both.step()
            both.break_link()
        both.run_to_the_end()
        both.check_closed()
        (follower,) = both.followers
        return both, json.loads(json.dumps(leader.record())), json.loads(json.dumps(follower.record()))

    return made


@pytest.mark.parametrize("weights", ["dynamic", "off"])
def test_a_followers_record_has_no_text_of_anybodys(
    records: Callable[..., tuple[Sides, dict[str, object], dict[str, object]]], weights: str
) -> None:
    """Neither the question nor a passage's text; the device's has the question, and no passage's text either."""
    both, led, followed = records(weights=weights, max_tokens=16, ignore_eos=True)
    assert CANARY not in json.dumps(followed)
    assert both.reader.done.text not in json.dumps(followed)
    assert led["question"] == f"Who is {CANARY}?"
    assert CANARY not in json.dumps({name: value for name, value in led.items() if name != "question"})
    assert isinstance(followed["tokens"], int)
    assert 0 < followed["tokens"] <= 16  # it need not hear of the last
    assert followed["ended"] == "ended by the device, or its silence"
    passages = followed["passages"]
    assert isinstance(passages, list)
    assert [each["document"] for each in passages] == ["There g.txt", f"No {CANARY[-1]}.txt"]
    assert sum(each["weight"] for each in passages) == pytest.approx(1)


def test_a_leaders_record_is_the_outcome_and_how_it_came_about(
    records: Callable[..., tuple[Sides, dict[str, object], dict[str, object]]],
) -> None:
    """The figures are the answer's own; every event of the link has its time, in order."""
    both, led, _ = records(broken=True, max_tokens=12, ignore_eos=True)
    done = both.reader.done
    solo = done.aggregation.solo_steps
    assert (led["ended"], led["tokens"], led["method"]) == (done.finish, 12, "coupled")
    assert led["solo"] == {"steps": len(solo), "first": solo[0], "last": solo[-1]}
    assert led["accepted"] == {"device": done.aggregation.accept_device, "cloud": done.aggregation.accept_cloud}
    assert led["drawing"] == {"temperature": 1.0, "top_p": 0.95, "seed": 5}
    links = led["links"]
    assert isinstance(links, list)
    assert [each["what"] for each in links] == ["asked to take part", both.reader.notices[0], "continued alone"]
    assert [each["t_s"] for each in links] == sorted(each["t_s"] for each in links)
    cloud, times = led["cloud"], led["times_s"]
    assert isinstance(cloud, dict)
    assert isinstance(times, dict)
    assert (cloud["passages"], cloud["scorer"]) == (2, "plain")
    assert times["first token"] == pytest.approx(done.ttft_s)


def test_a_question_that_never_began_has_a_record_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without passages, tokens or a cloud; a link that breaks all the time fills no memory."""
    clock = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(module, "time", clock)
    both = Sides(ask(), clock, up=False)
    leader = both.begin()
    both.wait()
    for _ in range(300):
        both.heal_link()
    leader.cancel()
    record = leader.record()
    assert (record["passages"], record["cloud"], record["tokens"], record["scorer"]) == ([], None, 0, None)
    assert record["times_s"]["first token"] is None
    assert len(record["links"]) == 200
    assert json.loads(json.dumps(record)) == record
