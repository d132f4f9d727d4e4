"""Laws of the entry point: Ctrl-C is quiet from the first moment on, and a closed stream breaks nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hocket_tools import entry
from waiting import WAIT_S


class Interrupting:
    """Ctrl-C while the command line is imported."""

    def find_spec(self, name: str, _path: Sequence[str] | None = None, _target: object = None) -> None:
        if name == "hocket_tools.main":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_command_line_loads_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The status of an interrupted program, and no traceback of imports."""
    monkeypatch.delitem(sys.modules, "hocket_tools.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        entry.main()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("closed", "arguments", "status"),
    [
        (">&-", "status", 69),
        pytest.param("<&-", "ask -", 69, marks=pytest.mark.slow),
        pytest.param("2>&-", "ask --json x", 69, marks=pytest.mark.slow),
        ("<&- >&- 2>&-", "status", 69),
    ],
)
def test_a_closed_stream_breaks_nothing(closed: str, arguments: str, status: int, tmp_path: Path) -> None:
    """What would have gone there goes nowhere; the rest is as ever."""
    program = f'"{sys.executable}" -c "from hocket_tools.entry import main; main()" {arguments}'
    done = subprocess.run(
        ["sh", "-c", f"unset HOCKET_ENDPOINT; HOCKET_HOME='{tmp_path}' exec {program} {closed}"],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)["code"] == "unavailable"


@pytest.mark.parametrize("arguments", ["status", "status --json", "--help"])
def test_output_without_room_is_one_line_with_a_remedy(arguments: str, tmp_path: Path) -> None:
    """And the interpreter does not try once more at its end."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from hocket_tools.entry import main; main()", *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"HOCKET_HOME": str(tmp_path)},
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "hocket: the disk is full: make room, or write elsewhere\n"


@pytest.mark.parametrize("arguments", ["--help", "model list", "explain --help"])
def test_a_reader_that_leaves_ends_it_quietly(arguments: str, tmp_path: Path) -> None:
    """As a program that SIGPIPE ends, which shells number 141; whoever reads a beginning wants no complaint."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as unread:
        done = subprocess.run(
            [sys.executable, "-c", "from hocket_tools.entry import main; main()", *arguments.split()],
            stdout=unread,
            stderr=subprocess.PIPE,
            env=os.environ | {"HOCKET_HOME": str(tmp_path)},
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("libodd.so.3: cannot open shared object file: No such file or directory", "apt-get install libodd3 "),
        pytest.param("undefined symbol: odd", "--force-reinstall", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("broken", "command"),
    [
        ("torch", "device --config device.toml"),
        pytest.param("msgspec", "device --config device.toml", marks=pytest.mark.slow),
        pytest.param("faiss", "retrieval --config retrieval.toml", marks=pytest.mark.slow),
        pytest.param("starlette", "serve", marks=pytest.mark.slow),
    ],
)
def test_a_package_that_does_not_load_is_one_line_with_a_remedy(
    broken: str, command: str, said: str, remedy: str, tmp_path: Path
) -> None:
    """Of a daemon it is the status that a service manager does not try again."""
    (tmp_path / f"{broken}.py").write_text(f"raise ImportError({said!r})")
    own = f'keys = "{tmp_path}"\n[model]\ndtype = "float32"\n'  # which torch reads
    (tmp_path / "device.toml").write_text(f'endpoint = "ipc://{tmp_path}/a"\nretrieval = "ipc://{tmp_path}/b"\n{own}')
    (tmp_path / "retrieval.toml").write_text(f'endpoint = "ipc://{tmp_path}/b"\nstate = "{tmp_path}/state"\n')
    done = subprocess.run(
        [sys.executable, "-c", "from hocket_tools.entry import main; main()", *command.split()],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "HOCKET_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        cwd=tmp_path,
    )
    line = done.stderr.splitlines()[-1]
    assert (line.startswith("hocket: "), remedy in line, "is not installed" in line) == (True, True, False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if broken == "msgspec" else 78)
