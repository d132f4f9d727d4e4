"""A command on the machine of the other side says so, and does not send its user to start what cannot be here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_tools.main import run
from ports import free_port

FOR_A_DEVICE = (
    ["ask", "Where?"],
    ["chat"],
    ["explain"],
    ["forget", "--all"],
    ["audit"],
    ["alone", "on"],
    ["graph", "show"],
    ["documents", "--side", "device"],
    ["ingest", "--side", "device", "."],
)
FOR_A_CLOUD = (["drain"], ["search", "--side", "cloud", "rent"], ["watch", "--side", "cloud", "."])


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, Path]]:
    """A home of each side, as `hocket init` makes it; nothing runs."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        homes = {side: Path(folder) / side for side in ("device", "cloud")}
        assert run(["init", "device", "--home", str(homes["device"])]) == 0
        at = f"tcp://127.0.0.1:{free_port()}"
        assert run(["init", "cloud", "--at", at, "--home", str(homes["cloud"])]) == 0
        yield homes


@pytest.mark.parametrize(
    ("side", "words"),
    [*(("cloud", words) for words in FOR_A_DEVICE), *(("device", words) for words in FOR_A_CLOUD)],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_the_other_side_has_is_asked_for_there(
    sides: dict[str, Path], side: str, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """The error is one line that names this machine's side and where to run the command."""
    other = "device" if side == "cloud" else "cloud"
    assert run([*words, "--home", str(sides[side])]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert f"this machine is a {side} alone" in line
    assert f"run this on the {other}" in line
