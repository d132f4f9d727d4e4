"""Laws of files that several programs write at one moment.

No test saw that two fail each other: every one wrote its file from one place, one time after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket_bus.errors import BadRequest, Unavailable
from hocket_bus.sockets import new_key_pair
from hocket_bus.trust import private
from hocket_bus.trust.keys import Peer, changing_peers, read_peers, write_own, write_peers
from hocket_bus.trust.private import changing, write_new, write_whole
from hocket_daemon.engine.backends.format_choice import report, reported
from hocket_daemon.engine.catalog.checking import Check
from hocket_daemon.graph import calibration_file
from hocket_daemon.graph.shipped import SHIPPED
from hocket_daemon.profiling import profiles
from hocket_gateway.access.people import invite, listed, revoke
from waiting import WAIT_S

TEXTS = {f"line {n}\n" * (1 + 400 * n) for n in range(4)}


def at_once(*works: Callable[[], object]) -> list[Exception]:
    """What they raise, each begun when all are there, on a thread of its own."""
    raised, begin = list[Exception](), threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        begin.wait(WAIT_S)
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert not any(thread.is_alive() for thread in threads)
    return raised


def write_often(file: Path, text: str) -> None:
    for _ in range(40):
        write_whole(file, text)
        assert file.read_text() in TEXTS


def test_several_write_one_file_and_none_fails(tmp_path: Path) -> None:
    """It is one of their texts at every moment, and nothing else is left in its folder."""
    file = tmp_path / "device.toml"
    assert at_once(*(lambda text=text: write_often(file, text) for text in TEXTS)) == []
    assert file.read_text() in TEXTS
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("save", "load"),
    [
        (lambda file: calibration_file.save(file, SHIPPED), lambda file: calibration_file.load(str(file)) == SHIPPED),
        (
            lambda file: profiles.save(file, profiles.NetworkProfile(host="cloud", figures=[])),
            lambda file: profiles.load(file, profiles.NetworkProfile) is not None,
        ),
        (lambda file: report(file.parent, list[Check]()), lambda file: reported(file.parent) == []),
    ],
)
def test_so_do_a_calibration_a_profile_and_a_report(
    tmp_path: Path, save: Callable[[Path], None], load: Callable[[Path], bool]
) -> None:
    """What is written can be read, and no other name is left."""
    file = tmp_path / "kept.json"
    assert at_once(*[lambda: [save(file) for _ in range(20)]] * 3) == []
    assert load(file)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_machine_gets_one_key_however_many_make_it(tmp_path: Path) -> None:
    """One of them makes it, each other one is told that it is there: nobody is shown a key that was replaced."""
    raised = at_once(*[lambda: write_own(tmp_path / "keys", new_key_pair())] * 4)
    assert [type(error) for error in raised] == [BadRequest] * 3
    with pytest.raises(FileExistsError):
        write_new(next((tmp_path / "keys").iterdir()), "")


def test_no_peer_and_no_person_is_lost_between_two_who_add_one(tmp_path: Path) -> None:
    """Each reads all that are there, and writes all and one more."""

    def allow(name: str) -> None:
        with changing_peers(tmp_path):
            write_peers(tmp_path, read_peers(tmp_path) | {name: Peer(new_key_pair().public)})

    names = [f"laptop-{n}" for n in range(8)]
    assert at_once(*(lambda name=name: allow(name) for name in names)) == []
    assert sorted(read_peers(tmp_path)) == names
    file = tmp_path / "people.json"
    assert at_once(*(lambda name=name: invite(file, name) for name in names)) == []
    assert [person.name for person in listed(file)] == names
    assert at_once(*(lambda name=name: revoke(file, name) for name in names[1:])) == []
    assert [person.name for person in listed(file)] == names[:1]


def test_who_waits_too_long_for_another_change_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the file can be changed once that is over."""
    monkeypatch.setattr(private, "CHANGE_S", 0.0)
    with changing(tmp_path / "a"), pytest.raises(Unavailable, match="another program"), changing(tmp_path / "a"):
        pass
    with changing(tmp_path / "a"):
        pass
