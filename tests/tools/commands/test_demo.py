"""Laws of `hocket demo`, with models that cannot read: it must fail honestly and leave nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_tools.commands.daemons.pair import START_S
from processes import guarded
from waiting import WAIT_S, until

pytestmark = [pytest.mark.programs, pytest.mark.timeout(START_S + 2 * WAIT_S)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="hk") as name:
        yield Path(name)


def demo(folder: Path, tiny_models: dict[str, Path]) -> subprocess.Popen[str]:
    """`hocket demo` in a process of its own; its daemons load the tiny models as the bundled ones."""
    package = folder / "stub" / "hocket_models"
    package.mkdir(parents=True)
    folders = {side: str(model) for side, model in tiny_models.items()}
    (package / "__init__.py").write_text(f"FOLDERS = {folders!r}\n\n\ndef path(side):\n    return FOLDERS[side]\n")
    (folder / "t").mkdir()
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", "hocket_tools.main", "demo"],
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(folder / "t")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def daemons(folder: Path) -> list[str]:
    """Command lines of processes that use this demo's folder; a daemon runs in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_text(encoding="utf-8").replace("\0", " ")
                found.append(f"{line}in {os.readlink(entry / 'cwd')}")
            except OSError:
                continue  # it ended while we looked
    return [line for line in found if str(folder / "t") in line]


@pytest.mark.slow
def test_an_answer_without_the_facts_is_a_failure_and_everything_is_stopped(
    folder: Path, tiny_models: dict[str, Path]
) -> None:
    """Random weights stream an answer; the demo says what it lacks, fails and leaves no process or file."""
    with guarded(demo(folder, tiny_models)) as process:
        _, errors = process.communicate(timeout=START_S + WAIT_S)
    assert "the device has read 6 documents" in errors
    assert "the cloud has read 6 documents" in errors
    if "may be steering this answer" in errors:  # random weights may lead each other as a cloud that lies does
        assert process.returncode == 69, errors
    else:
        assert process.returncode == 1, errors
        assert "ms per token" in errors
        assert "an answer lacks larkspur77" in errors
    assert daemons(folder) == []
    assert list((folder / "t").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long),
        pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_demo_leaves_nothing_behind(
    folder: Path, tiny_models: dict[str, Path], number: signal.Signals, status: int
) -> None:
    """Ctrl-C, SIGTERM and SIGKILL during the start: all four daemons are stopped and the folder is removed."""
    with guarded(demo(folder, tiny_models)) as process:
        assert process.stderr is not None
        assert "starting" in process.stderr.readline()
        until(lambda: process.poll() is not None or len(daemons(folder)) >= 5, 0.2)  # and what sweeps up
        assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=WAIT_S)
    assert process.returncode == status
    if number == signal.SIGKILL:
        until(lambda: not daemons(folder), 0.1)
    assert daemons(folder) == []
    assert list((folder / "t").iterdir()) == []
