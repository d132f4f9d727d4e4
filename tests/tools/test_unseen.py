"""Law: who started a daemon finds it by its folder, though its memory is closed to its own user."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
from processes import guarded, with_helpers

USER = 65533
AS_ANOTHER = f"""
import codecs, os, sys
from pathlib import Path
from hocket_bus.trust.unseen import close_daemon
from hocket_tools.pair import processes
from hocket_tools.pair.home import Home
codecs.lookup("ascii")
if not os.geteuid():
    os.setgroups([])
    os.setresgid({USER}, {USER}, {USER})
    os.setresuid({USER}, {USER}, {USER})
"""
DAEMON = AS_ANOTHER + "close_daemon()\nprint('here', flush=True)\nsys.stdin.read()"
LOOKING = AS_ANOTHER + "print(*processes.pids(Home(Path(sys.argv[1]))).get('device', []))"


def found(at: Path) -> list[int]:
    """What a process of the same user finds as the device's daemon of this folder."""
    done = subprocess.run([sys.executable, "-c", LOOKING, at], capture_output=True, text=True, check=True)
    return [int(pid) for pid in done.stdout.split()]


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder that other users may look into; pytest's own are nobody else's."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's processes are needed, which only root has")
def test_a_daemon_that_is_closed_is_found_by_its_folder(shown: Path) -> None:
    """Wherever the folder is moved to; and by that folder alone."""
    here, there = shown / "here", shown / "there"
    for folder in (here, there):
        folder.mkdir(mode=0o755)
    command = [sys.executable, "-c", DAEMON, "hocket_tools.main", "--config", "device.toml"]
    pipe, environment = subprocess.PIPE, with_helpers()
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=here, env=environment)
    with guarded(process) as daemon:
        assert daemon.stdout
        assert daemon.stdin
        assert daemon.stdout.readline() == "here\n"
        assert found(here) == [daemon.pid]
        assert found(there) == []
        moved = here.rename(shown / "moved")
        assert found(moved) == [daemon.pid]
        assert processes.pids(Home(moved)) == {"device": [daemon.pid]}  # as root sees it
        daemon.stdin.close()
