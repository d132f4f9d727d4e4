"""Law: SIGTERM ends a daemon whatever its model does, on whichever thread."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hocket_bus.ending import FORCED
from hocket_tools.pair.home import Home
from homes import configured
from processes import guarded, with_helpers
from waiting import WAIT_S

PROGRAM = Path(__file__).with_name("stuck_daemon.py")


@pytest.mark.programs
@pytest.mark.parametrize(
    ("thread", "how", "status"),
    [
        pytest.param("compute", "native", 0, marks=pytest.mark.slow),
        pytest.param("main", "loop", FORCED, marks=pytest.mark.slow),
        pytest.param("compute", "loop", 0, marks=pytest.mark.slow),
        pytest.param("main", "native", FORCED, marks=pytest.mark.slow),
    ],
)
def test_a_model_that_never_returns_does_not_keep_its_daemon(
    thread: str, how: str, status: int, tiny_models: dict[str, Path], tmp_path: Path
) -> None:
    """A stuck compute thread is left to itself, and all else is closed; a stuck main thread is ended by force."""
    home = configured(Home(tmp_path / "pair"), tiny_models)
    command = [sys.executable, str(PROGRAM), str(home.config("cloud")), thread, how]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=with_helpers(), cwd=home.at
    )
    with guarded(process):
        assert process.stdout
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == status
