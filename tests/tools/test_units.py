"""Laws of the systemd units: they are placed whole, systemd understands them, and they expose little."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec import Struct

from hocket_bus.config import load
from hocket_bus.sockets.connection_limits import MAX_CONNECTIONS
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_gateway.settings import ServeSettings
from hocket_retrieval.config import RetrievalConfig
from waiting import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted(path.name for path in (ROOT / "systemd").glob("*.service"))
KINDS: dict[str, type[Struct]] = {"device": DeviceSettings, "cloud": CloudSettings, "serve": ServeSettings}
MOST_EXPOSED = {
    "hocket-device.service": 1.1,
    "hocket-cloud.service": 1.5,
    "hocket-retrieval@.service": 0.5,
    "hocket-serve.service": 1.0,
}
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: apt-get install systemd"
)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False, cwd=ROOT)


@pytest.mark.parametrize("side", ["device", "cloud"])
def test_daemons_find_the_models_of_their_install(side: str, placed: Path) -> None:
    """Where docs/systemd.md has root put them, beside the program; no unit sees a home folder's."""
    text = (placed / f"etc/systemd/system/hocket-{side}.service").read_text()
    (program,) = re.findall(r"ExecStart=(.*)/bin/hocket ", text)
    (models,) = re.findall(r"HOCKET_MODELS=(\S+)", text)
    assert models == f"{program}/models"


@pytest.fixture
def placed(tmp_path: Path) -> Path:
    """The folder that stands for / after `make install-units` for an install in tmp_path/opt."""
    (tmp_path / "opt/bin").mkdir(parents=True)
    (tmp_path / "opt/bin/hocket").symlink_to("/bin/true")
    done = run("make", "install-units", f"DESTDIR={tmp_path}/root", f"PREFIX={tmp_path}/opt")
    assert done.returncode == 0, done.stderr
    return tmp_path / "root"


@needs_systemd
def test_systemd_finds_nothing_to_complain_about(placed: Path) -> None:
    """`systemd-analyze verify`, instances of the template included."""
    folder = placed / "etc/systemd/system"
    for side in ("device", "cloud"):
        (folder / f"hocket-retrieval@{side}.service").symlink_to("hocket-retrieval@.service")
    done = run("systemd-analyze", "verify", "--man=no", *sorted(folder.glob("*[!@].service")))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_units_expose_no_more_than_they_need(unit: str) -> None:
    """By the scale of `systemd-analyze security`, from 0 to 10."""
    maximum = MOST_EXPOSED[unit]
    done = run(
        "systemd-analyze",
        "security",
        "--offline=true",
        "--no-pager",
        f"--threshold={maximum * 10:g}",
        f"systemd/{unit}",
    )
    score = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    assert score is not None, done.stderr
    assert (done.returncode, float(score[1]) <= maximum) == (0, True), done.stdout


@pytest.mark.parametrize("unit", UNITS)
def test_units_keep_to_what_the_daemons_do(unit: str) -> None:
    """Readiness and signs of life are told, 78 is not tried again, the end comes after the drain, libzmq may live."""
    text = (ROOT / "systemd" / unit).read_text(encoding="utf-8")
    for line in (
        "Type=notify",
        "WatchdogSec=30s",
        "RestartPreventExitStatus=78",
        "ExecReload=/bin/sh -c 'kill -HUP $$MAINPID'",
    ):
        assert f"\n{line}\n" in text
    assert text.index("SystemCallFilter=sched_setscheduler") > text.index("SystemCallFilter=~@privileged @resources")
    descriptors = int(re.search(r"\nLimitNOFILE=(\d+)\n", text)[1])  # type: ignore[index]
    assert descriptors // 2 >= MAX_CONNECTIONS, "what the bus takes at most leaves as many for all else"
    longest_s = int(re.search(r"\nTimeoutStopSec=(\d+)s\n", text)[1])  # type: ignore[index]
    assert longest_s > CloudSettings(endpoint="ipc:///x", retrieval="ipc:///y").drain_s + 5


@pytest.mark.parametrize("unit", UNITS)
def test_who_may_listen_over_tcp_may_ask_for_the_machines_addresses(unit: str) -> None:
    """libzmq asks the kernel before it binds a tcp address, and ends the process where it may not."""
    families = settings_in(unit)["RestrictAddressFamilies"].split()
    binds_tcp = "hocket-serve" not in unit and "AF_INET" in families  # the gateway's port is not libzmq's
    assert ("AF_NETLINK" in families) == binds_tcp
    if KINDS.get(unit.removeprefix("hocket-").removesuffix(".service")) in (DeviceSettings, CloudSettings):
        assert binds_tcp


@pytest.mark.parametrize("unit", UNITS)
def test_units_run_no_program_that_a_small_system_lacks(unit: str) -> None:
    """Nothing but hocket itself and the shell, by whole paths."""
    text = (ROOT / "systemd" / unit).read_text(encoding="utf-8")
    programs = re.findall(r"(?m)^Exec\w+=(\S+)", text)
    assert set(programs) == {"/opt/hocket/bin/hocket", "/bin/sh"}


def settings_in(unit: str) -> dict[str, str]:
    """What stands in a unit; of settings that are there twice, the last."""
    lines = (ROOT / "systemd" / unit).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z]\w+=", line))


def test_each_daemon_has_a_user_and_folders_of_its_own() -> None:
    """So that the fall of one, such as the one that reads foreign documents, is not the others'."""
    units = [settings_in(unit) for unit in UNITS]
    for name in ("User", "StateDirectory", "RuntimeDirectory", "CacheDirectory"):
        assert len({unit[name] for unit in units}) == len(UNITS)
    for unit in units:
        assert (unit["StateDirectoryMode"], unit["CacheDirectoryMode"], unit["UMask"]) == ("0700", "0700", "0077")
    known = (ROOT / "systemd/hocket.sysusers").read_text(encoding="utf-8")
    for user in {unit["User"].replace("%i", side) for unit in units for side in ("device", "cloud")}:
        assert f"\nu {user} - " in known


@pytest.mark.parametrize("name", ["device", "cloud", "device-retrieval", "cloud-retrieval", "serve"])
def test_the_configuration_that_is_placed_keeps_to_the_units_folders(name: str) -> None:
    """Whatever a daemon writes lies in its own folder; its socket lies where its group may enter."""
    text = (ROOT / "systemd/etc" / f"{name}.toml").read_text(encoding="utf-8")
    assert set(re.findall(r"/var/lib/hocket/([\w-]+)/", text)) == {name}
    listens = re.search(r'(?m)^endpoint = "(.*?)"', text)
    assert (listens is None) == (name == "serve")  # which listens at a port
    assert listens is None or listens[1] in (f"ipc:///run/hocket/{name}/socket", "tcp://127.0.0.1:7100")


def test_the_configuration_that_is_placed_is_read_and_an_edited_one_stays(placed: Path) -> None:
    """By the same records that the daemons use."""
    for file in (placed / "etc/hocket").glob("*.toml"):
        load(file, KINDS.get(file.stem, RetrievalConfig))
    edited = placed / "etc/hocket/device.toml"
    edited.write_text("mine")
    assert run("make", "install-units", f"DESTDIR={placed}").returncode == 0
    assert edited.read_text() == "mine"
