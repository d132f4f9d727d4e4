"""Laws of the folder of a pair: its files are written whole or not at all, and nobody else reads them."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from hocket_bus import config, paths
from hocket_bus.errors import BadConfiguration
from hocket_bus.trust.private import write_whole
from hocket_daemon.config import DeviceSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_tools.main import run
from hocket_tools.pair.home import NAMES, Home


@pytest.mark.parametrize("written", range(4))
def test_a_first_start_that_fails_leaves_no_configuration(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it fails: half the files would be taken for one side of a pair. The next start writes them all."""
    home, left = Home(tmp_path / "h"), [None] * written

    def failing(path: Path, text: str) -> None:
        if not left:
            raise OSError(28, "No space left on device")
        left.pop()
        write_whole(path, text)

    monkeypatch.setattr("hocket_tools.pair.home.write_whole", failing)
    with pytest.raises(OSError, match="No space"):
        home.prepare()
    assert list(home.at.rglob("*.toml")) == []
    monkeypatch.undo()
    home.prepare()
    assert home.names == NAMES


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing beside it. A text is UTF-8 in every locale, since TOML is."""
    file = tmp_path / "device.toml"
    write_whole(file, "name = 'Änne'\n")
    assert file.read_bytes() == "name = 'Änne'\n".encode()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, "name = 'b'\n")
    assert [path.name for path in tmp_path.iterdir()] == ["device.toml"]
    assert file.read_bytes() == "name = 'Änne'\n".encode()


def test_a_folder_of_others_is_not_closed_to_them(tmp_path: Path) -> None:
    """One with files that others may read is refused as it stands; an empty one, and a pair's own, are taken."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    (shared / "thesis.md").write_text("Mine and yours.")
    with pytest.raises(BadConfiguration, match="others may read it"):
        Home(shared).prepare()
    assert shared.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in shared.iterdir()] == ["thesis.md"]
    (shared / "thesis.md").unlink()
    for ours in ("keys", "models", "profiles"):  # of hocket keys new, model get and profile
        (shared / ours).mkdir()
    Home(shared).prepare()
    shared.chmod(0o755)
    Home(shared).prepare()
    assert shared.stat().st_mode & 0o777 == 0o700


def test_a_moved_or_copied_folder_is_its_own(tmp_path: Path) -> None:
    """Every path in its files begins there, and so does what the daemons read; the original is not touched."""
    first = Home(tmp_path / "first")
    first.prepare()
    copy, moved = Home(tmp_path / "copy"), Home(tmp_path / "moved")
    shutil.copytree(first.at, copy.at)
    first.at.rename(moved.at)
    for home in (copy, moved):
        assert home.is_pair
        assert home.strays() == []
        told = [home.listening("device"), home.peer(), str(home.ledger()), str(home.decisions("cloud"))]
        device = config.load(home.config("device"), DeviceSettings)
        told += [device.endpoint, device.retrieval, device.kv.folder, device.dispatch.account, device.gate.calibration]
        told.append(config.load(home.config("cloud-retrieval"), RetrievalConfig).state)
        assert {Path(place.removeprefix("ipc://")).is_relative_to(home.at) for place in told} == {True}


def test_a_folder_that_names_another_one_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one that an older version wrote, with whole paths, and that was moved: each file once, with what to write."""
    home = Home(tmp_path / "h")
    home.prepare()
    for name in NAMES:
        text = home.config(name).read_text()
        text = text.replace("ipc://run", "ipc:///old/pair/run").replace('"device-', '"/old/pair/device-')
        home.config(name).write_text(text)
    lines = home.strays()
    assert len(lines) == len(NAMES)
    assert all("names another folder, /old/pair:" in line and "ipc://run/" in line for line in lines)
    assert run(["status", "--home", str(home.at)]) == 69
    assert lines[0] in capsys.readouterr().out
    home.config("device").write_text(f'endpoint = "{home.endpoint("device")}"\nretrieval = "ipc:///elsewhere/x"\n')
    assert not any("device.toml" in line for line in home.strays())


def test_a_reload_is_for_daemons_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where none does, one line says when keys are read; a key that is revoked says who has taken it over."""
    where = ["--home", str(tmp_path / "h")]
    Home(tmp_path / "h").prepare()
    assert run(["reload", *where]) == 69
    assert capsys.readouterr().err.count("\n") == 1
    assert run(["keys", "allow", "anna", "k" * 40, *where]) == 0
    assert run(["keys", "revoke", "anna", *where]) == 0
    assert "systemctl reload" in capsys.readouterr().out


def test_a_tilde_is_a_home_folder_unless_a_file_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word processor's `~$report.docx`, and users whom nobody knows, stand as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/anna")
    (tmp_path / "~").write_text("A file of that name.")
    assert paths.expanded(Path("~")) == Path("~")
    assert paths.expanded(Path("~/notes")) == Path("/home/anna/notes")
    for name in ("~$report.docx", "~nobody-of-that-name/x", "notes"):
        assert paths.expanded(Path(name)) == Path(name)


def test_a_command_that_is_shown_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the folder's name has blanks and quotes."""
    home = tmp_path / "Anna's pair"
    assert run(["profile", "--offline", "--side", "cloud", "--home", str(home)]) == 78
    shown = capsys.readouterr().err.partition("make one: ")[2]
    assert shlex.split(shown) == ["hocket", "up", "--home", str(home)]
