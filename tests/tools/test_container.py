"""The cloud's container: no engine is asked to build it here, but all that it copies is there, and its program runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hocket_tools.main import run
from ports import free_port
from processes import guarded
from waiting import WAIT_S, until

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "systemd" / "container"
RECIPE = (FOLDER / "Containerfile").read_text(encoding="utf-8")


def test_all_that_is_copied_is_there_and_all_that_is_packed_is_copied() -> None:
    copied = [name for line in re.findall(r"^COPY (.*)$", RECIPE, re.MULTILINE) for name in line.split()[:-1]]
    assert len(copied) >= 10
    assert [name for name in copied if not (ROOT / name).exists()] == []
    packed = re.findall(r'"(\w+)/hocket_\w+"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(packed) <= set(copied)
    kept = [line[1:] for line in (FOLDER / "Containerfile.containerignore").read_text().splitlines() if line[0] == "!"]
    assert [name for name in copied if not any(name == each or name.startswith(f"{each}/") for each in kept)] == []


@pytest.mark.slow
@pytest.mark.programs
def test_its_program_makes_a_cloud_that_answers_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """Nothing but the address by which it is reached is said to it; without that it says what is missing."""
    port, home = free_port(), str(tmp_path / "home")
    bin = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"HOCKET_HOME": home, "HOCKET_PORT": str(port), "PATH": bin, "HOCKET_MODELS": str(tmp_path)}
    env.pop("HOCKET_AT", None)
    program = [str(FOLDER / "serve-cloud")]
    told = subprocess.run(program, env=env, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert (told.returncode != 0, "HOCKET_AT=tcp://" in told.stderr) == (True, True)
    env["HOCKET_AT"] = f"tcp://127.0.0.1:{port}"
    with guarded(subprocess.Popen(program, env=env, text=True, stdout=subprocess.DEVNULL)) as running:
        until(lambda: run(["status", "--home", home]) == 0 or running.poll() is not None, every_s=0.5)
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        assert running.wait(WAIT_S) == 0
