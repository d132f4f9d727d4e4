"""An endpoint, a lock or a state folder never stands for another file: none is emptied, removed or opened to others."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from hocket_bus.endpoints import claim
from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import keep_private, lock, private_folder
from hocket_daemon.database import written
from hocket_tools.pair.home import Home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("taken", ["{}", "{}.lock", "{}.pub"])
@pytest.mark.parametrize("link", [False, True])
def test_an_endpoint_that_names_a_file_is_refused_and_the_file_stays(tmp_path, taken, link):
    """A file at the path itself, at its stream or at its lock, or behind a link there."""
    notes = tmp_path / "notes.txt"
    notes.write_text("My notes.")
    place = Path(taken.format(tmp_path / "r.sock"))
    if link:
        place.symlink_to(notes)
    else:
        place.write_text("My notes.")
    with pytest.raises(BadConfiguration, match="choose another"):
        claim(f"ipc://{tmp_path}/r.sock")
    assert place.read_text() == notes.read_text() == "My notes."


def test_what_a_daemon_left_is_taken_over(tmp_path):
    """A socket and an empty lock of an earlier one; while one holds it, another is refused."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "r.sock"))
    (tmp_path / "r.sock.lock").touch()
    with claim(f"ipc://{tmp_path}/r.sock"):
        with pytest.raises(BadConfiguration, match="another daemon already listens"):
            claim(f"ipc://{tmp_path}/r.sock")
        assert mode(tmp_path / "r.sock.lock") == 0o600
    claim(f"ipc://{tmp_path}/r.sock").close()


def test_files_and_folders_of_a_pair_are_its_owner_s_alone(tmp_path):
    """Also those that were there before, with a mask that forbids nothing."""
    home = Home(tmp_path / "home")
    (tmp_path / "home" / "logs").mkdir(parents=True)
    (tmp_path / "ledger.db").touch(0o644)
    mask = os.umask(0)
    try:
        home.prepare()
        for name in ("ledger.db", "decisions.db"):
            with written(tmp_path / name, "CREATE TABLE IF NOT EXISTS rows (row TEXT)"):
                pass
    finally:
        os.umask(mask)
    kept = [tmp_path / "ledger.db", tmp_path / "decisions.db", *(tmp_path / "home").rglob("*")]
    assert mode(tmp_path / "home") == 0o700
    assert {mode(path) for path in kept if path.is_dir()} == {0o700}
    assert {mode(path) for path in kept if path.is_file()} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_what_is_another_user_s_is_refused(tmp_path):
    """It could be changed, or read, by that user."""
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.touch()
    for path, use in ((folder, private_folder), (file, keep_private), (file, lock)):
        os.chown(path, 12345, 12345)
        with pytest.raises(BadConfiguration, match="user"):
            use(path)
