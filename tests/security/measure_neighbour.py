"""What a neighbour feels of an attack: `PYTHONPATH=tests:tests/security python tests/security/measure_neighbour.py`.

A cloud daemon, an honest machine that sends an echo fifty times a second and connects anew twice a second, and an
attacker in a process of its own. Measured in turn without the attack and during it, and the daemon's memory meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from attackers import ATTACKS

from hocket_bus.messages import Hello, Message, Ping, Pong, Right, Welcome
from hocket_bus.sockets import new_key_pair
from hocket_bus.sockets.curve import guard
from hocket_bus.trust.keys import Keys, Peer, write_own, write_peers
from hocket_bus.wire import decode, encode
from ports import free_port

ECHO_S, ADMISSION_S, LATE_S = 0.02, 0.5, 5.0
HERE = Path(__file__).parent
MAY: frozenset[Right] = frozenset({"pair", "ask", "watch"})


@dataclass
class Felt:
    """Seconds of each round trip and of each admission, LATE_S for what did not come; bytes resident at most."""

    echoes_s: list[float] = field(default_factory=list)
    admissions_s: list[float] = field(default_factory=list)
    resident: int = 0

    def line(self, name: str) -> str:
        """For people."""
        echo, admission = (
            "  ".join(f"p{q * 100:.0f} {quantile(values, q) * 1000:8.2f} ms" for q in (0.5, 0.95))
            for values in (self.echoes_s, self.admissions_s)
        )
        return f"{name:37} echo {echo}   admission {admission}   resident {self.resident / 1e6:.0f} MB"


def quantile(values: list[float], q: float) -> float:
    """The smallest value that the share q does not exceed."""
    return sorted(values)[min(int(q * len(values)), len(values) - 1)]


@dataclass
class Cloud:
    """A cloud daemon in a process of its own, and two machines that it allows."""

    port: int
    folder: Path
    process: subprocess.Popen[str]

    @property
    def server(self) -> str:
        """Its public key."""
        return Keys(self.folder / "cloud").own.public

    def resident(self) -> int:
        """Bytes that it has in memory."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


@contextmanager
def ended(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended with the block."""
    with subprocess.Popen(arguments, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def cloud(folder: Path, model: Path | None = None) -> Iterator[Cloud]:
    """A daemon that is ready, with the bundled model unless another is named."""
    port = free_port()
    at = f"tcp://127.0.0.1:{port}"
    own = {name: new_key_pair() for name in ("cloud", "alice", "mallory")}
    for name, pair in own.items():
        write_own(folder / name, pair)
        write_peers(folder / name, {"cloud": Peer(own["cloud"].public, at)})
    write_peers(folder / "cloud", {name: Peer(own[name].public, may=MAY) for name in ("alice", "mallory")})
    named = f'[model]\nname = "{model}"\n' if model else ""
    (folder / "cloud.toml").write_text(
        f'endpoint = "{at}"\nretrieval = "ipc://{folder}/none"\nkeys = "{folder}/cloud"\nlog_level = "error"\n{named}'
    )
    arguments = [sys.executable, "-m", "hocket_tools.main", "cloud", "--config", f"{folder}/cloud.toml"]
    with ended(arguments) as process:
        made = Cloud(port, folder, process)
        with Neighbour(made) as first:
            assert first.greet(120.0) < 120.0, "it does not answer"
        yield made


class Neighbour:
    """An honest machine's connection."""

    def __init__(self, there: Cloud) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        guard(self._socket, Keys(there.folder / "alice"), there.server)
        self._socket.connect(f"tcp://127.0.0.1:{there.port}")

    def greet(self, wait_s: float = LATE_S) -> float:
        """Seconds until it is welcome."""
        return self._asked(Hello(role="client"), Welcome, wait_s)

    def echo(self) -> float:
        """Seconds until an echo is back."""
        return self._asked(Ping(sent_s=time.monotonic()), Pong, LATE_S)

    def __enter__(self) -> Neighbour:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(0)

    def _asked(self, message: Message, answer: type[Message], wait_s: float) -> float:
        began_s = time.monotonic()
        self._socket.send_multipart(encode(message))
        while (left_s := began_s + wait_s - time.monotonic()) > 0 and self._socket.poll(left_s * 1000):
            if isinstance(decode(self._socket.recv_multipart()), answer):
                return time.monotonic() - began_s
        return wait_s


def felt(there: Cloud, seconds: float) -> Felt:
    """What an honest machine feels for so long."""
    found, until = Felt(), time.monotonic() + seconds

    def admissions() -> None:
        while time.monotonic() < until:
            with Neighbour(there) as fresh:
                found.admissions_s.append(fresh.greet())
            time.sleep(ADMISSION_S)

    connecting = threading.Thread(target=admissions)
    connecting.start()
    with Neighbour(there) as neighbour:
        neighbour.greet()
        while time.monotonic() < until:
            found.echoes_s.append(neighbour.echo())
            found.resident = max(found.resident, there.resident())
            time.sleep(ECHO_S)
    connecting.join()
    return found


@contextmanager
def attack(name: str, there: Cloud) -> Iterator[None]:
    """Mallory attacks until the end of the block."""
    arguments = [name, "127.0.0.1", str(there.port), str(there.folder / "mallory"), there.server]
    with ended([sys.executable, str(HERE / "attackers.py"), *arguments]):
        yield


def measure(name: str, seconds: float, model: Path | None = None) -> tuple[Felt, Felt]:
    """Without an attack and during it, of one daemon."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, cloud(Path(folder), model) as there:
        before = felt(there, seconds)
        with attack(name, there):
            during = felt(there, seconds)
        assert there.process.poll() is None, "the daemon has ended"
        return before, during


if __name__ == "__main__":
    for each in sys.argv[2:] or ATTACKS:
        for when, seen in zip(("without", "during"), measure(each, float(sys.argv[1])), strict=True):
            print(seen.line(f"{each}, {when}"), flush=True)
