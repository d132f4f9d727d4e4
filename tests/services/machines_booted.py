"""Two machines with Debian and systemd as PID 1, in containers on one network of their own (systemd-nspawn, as root).

Their tree is made once by debootstrap and kept in build/services. The packages of this environment are seen in them
read-only, so that what the page installs is there already and nothing is fetched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from page import ROOT, packages

from waiting import WAIT_S, until

SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}  # Debian's release with this Python, which the packages are for
INCLUDED = "systemd,systemd-sysv,dbus,sudo"  # what Debian's installer brings beside the smallest system
CACHE = ROOT / "build" / "services"
PACKAGES = "/usr/lib/hocket-packages"  # outside of /root and /home, which the units do not see
SOURCE = "/root/hocket"
_NEEDED = ("systemd-nspawn", "debootstrap", "ip", "nsenter", "git")
_BUILD_S = 900.0
REBOOTS = 133  # the status of systemd-nspawn


def hindrance() -> str:
    """Why machines cannot be booted here; empty where they can."""
    if os.geteuid():
        return "machines are booted by root"
    if missing := [name for name in _NEEDED if shutil.which(name) is None]:
        return f"{missing[0]} is missing: apt-get install systemd-container debootstrap iproute2"
    if sys.version_info[:2] not in SUITES:
        return f"no release of Debian is known that has Python {sys.version_info.major}.{sys.version_info.minor}"
    return "" if _cgroups() else "there is no cgroup2"


def tree() -> Path:
    """The folder with Debian and the packages that the page names; made where it is not there yet."""
    suite, line = SUITES[sys.version_info[:2]], packages()
    key = hashlib.sha256(f"{suite} {INCLUDED} {line}".encode()).hexdigest()[:12]
    made, partial = CACHE / f"tree-{key}", CACHE / "partial"
    if not made.exists():
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _run("debootstrap", "--variant=minbase", f"--include={INCLUDED}", suite, str(partial), timeout_s=_BUILD_S)
        _run("chroot", str(partial), "sh", "-euc", f"apt-get update -q; {line}; apt-get clean", timeout_s=_BUILD_S)
        partial.rename(made)
    return made


class Machine:
    """One of the two. Commands run as root in its source folder, unless another user is named."""

    def __init__(self, name: str, address: str, base: Path, folder: Path) -> None:
        self.name, self.address = name, address
        self._folder = folder
        self._namespace = f"hocket-{os.getpid()}-{name}"
        self._cgroup = _cgroups() / self._namespace
        self._nspawn: subprocess.Popen[bytes] | None = None
        for part in ("upper", "work", "root"):
            (folder / part).mkdir(parents=True)
        layers = f"lowerdir={base},upperdir={folder / 'upper'},workdir={folder / 'work'}"
        self.root = folder / "root"
        _run("mount", "-t", "overlay", "overlay", "-o", layers, str(self.root))
        _run("ip", "netns", "add", self._namespace)
        self._cgroup.mkdir()
        (self.root / "etc/hostname").write_text(f"{name}\n")
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {name}\n")
        for number in range(len(_site_packages())):
            (self.root / f"{PACKAGES[1:]}/{number}").mkdir(parents=True)
        self._bring_source()

    def bring_packages(self) -> None:
        """This environment's, as links in the one that the page has made: for pip they are installed. None is ours."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        folder = self.root / "opt/hocket/lib" / version / "site-packages"
        for older in folder.glob("setuptools*"):
            shutil.rmtree(older)
        for number, place in enumerate(_site_packages()):
            for each in place.iterdir():
                ours = "hocket" in each.name or each.suffix == ".pth"
                if not ours and not (folder / each.name).is_symlink() and not (folder / each.name).exists():
                    (folder / each.name).symlink_to(f"{PACKAGES}/{number}/{each.name}")

    def _bring_source(self) -> None:
        listed = _run("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            target = self.root / SOURCE[1:] / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, target)

    def connect(self, other: Machine) -> None:
        """One cable between the two."""
        for end in (self, other):
            _run("ip", "-n", end._namespace, "link", "set", "lo", "up")
        here, there = ("-n", self._namespace), ("-n", other._namespace)
        _run("ip", *here, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", other._namespace)
        for each, end in ((here, self), (there, other)):
            _run("ip", *each, "address", "add", f"{end.address}/24", "dev", "eth0")
            _run("ip", *each, "link", "set", "eth0", "up")

    def boot(self) -> None:
        """Start it, and wait until systemd has started all that it starts at boot."""
        binds = [f"--bind-ro={place}:{PACKAGES}/{number}" for number, place in enumerate(_site_packages())]
        command = [
            "systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}", f"--machine={self._namespace}",
            "--register=no", "--keep-unit", "--link-journal=no", "--resolv-conf=off", "--console=pipe",
            f"--network-namespace-path=/run/netns/{self._namespace}", "--capability=CAP_BPF,CAP_NET_ADMIN",
            "--system-call-filter=bpf", *binds,
        ]  # fmt: skip
        script = f'echo $$ > "{self._cgroup}/cgroup.procs"; exec "$@"'
        with (self._folder / "console").open("wb") as console:
            self._nspawn = subprocess.Popen(
                ["sh", "-c", script, "sh", *command],
                env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
            )
        self._wait_for_boot()

    def _wait_for_boot(self) -> None:
        def is_up() -> bool:
            assert self._nspawn is not None
            assert self._nspawn.poll() is None, (self._folder / "console").read_text(errors="replace")
            state = self.ask("systemctl is-system-running") if self._init() else ""
            return state.strip() in ("running", "degraded")

        until(is_up, every_s=0.2)

    def _init(self) -> str:
        """The number of its PID 1 out here; empty while it has none."""
        assert self._nspawn is not None
        with suppress(OSError):
            for child in Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split():
                if "\nName:\tsystemd\n" in "\n" + Path(f"/proc/{child}/status").read_text():
                    return child
        return ""

    def reboot(self) -> None:
        """As its owner does; the container ends with the status that asks for a new one."""
        assert self._nspawn is not None
        self.ask("systemctl reboot")
        assert self._nspawn.wait(WAIT_S) == REBOOTS
        self.boot()

    def _entered(self, user: str) -> list[str]:
        enter = ["nsenter", f"--target={self._init()}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
        return [*enter, "runuser", "-u", user, "--"] if user != "root" else enter

    def start(self, script: str, user: str = "root") -> subprocess.Popen[str]:
        """Begin a script; what it says and hears are pipes."""
        inner = f"cd {SOURCE if user == 'root' else '/'}\n{script}"
        return subprocess.Popen(
            [*self._entered(user), "sh", "-euc", inner],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PIP_NO_INDEX": "1",
                 "LANG": "C.UTF-8", "PIP_ROOT_USER_ACTION": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def run(self, script: str, user: str = "root") -> str:
        """What a script says; it must succeed."""
        status, said = self.attempt(script, user)
        assert status == 0, f"{self.name}: {script}\n{said}\n{self.journal()[-3000:]}"
        return said

    def ask(self, script: str) -> str:
        """The same of a script that may fail."""
        return self.attempt(script)[1]

    def attempt(self, script: str, user: str = "root") -> tuple[int, str]:
        """Its exit status, and all that it said."""
        begun = self.start(script, user)
        try:
            said, complained = begun.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.wait()
            raise
        return begun.returncode, said + complained

    def journal(self) -> str:
        """What the services have written, whole."""
        return self.ask("journalctl --no-pager -o cat -u 'hocket-*'")

    def off(self) -> None:
        """Power it off and put everything away, in whatever state it is."""
        if self._nspawn is not None and self._nspawn.poll() is None:
            with suppress(OSError, subprocess.SubprocessError):
                self.ask("systemctl poweroff")
            with suppress(subprocess.TimeoutExpired):
                self._nspawn.wait(60)
            self._nspawn.send_signal(signal.SIGKILL)
            self._nspawn.wait()
        for command in (["umount", "-l", str(self.root)], ["ip", "netns", "delete", self._namespace]):
            subprocess.run(command, check=False, timeout=WAIT_S)
        _remove_cgroups(self._cgroup)


@contextmanager
def two_machines(folder: Path) -> Iterator[tuple[Machine, Machine]]:
    """A server and a laptop that reach each other, and nobody else."""
    base, made = tree(), list[Machine]()
    try:
        for name, address in (("server", "192.0.2.7"), ("laptop", "192.0.2.20")):
            made.append(Machine(name, address, base, folder / name))
        server, laptop = made
        server.connect(laptop)
        for each in made:
            each.boot()
        yield server, laptop
    finally:
        for each in made:
            each.off()


def _site_packages() -> list[Path]:
    return [Path(place) for place in sys.path if place.endswith("site-packages") and Path(place).is_dir()]


def _cgroups() -> Path | None:
    """Where the tree of cgroup2 is mounted."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return next((Path(line.split()[1]) for line in lines if line.split()[2] == "cgroup2"), None)


def _remove_cgroups(top: Path) -> None:
    deadline = time.monotonic() + 10.0
    while top.exists() and time.monotonic() < deadline:
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        time.sleep(0.05)


def _run(*command: str, timeout_s: float = WAIT_S) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
