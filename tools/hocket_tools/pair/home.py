"""The folder of a pair on this machine: configuration, sockets, logs, documents; starts nothing."""

from __future__ import annotations

import os
import platform
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from hocket_bus import paths
from hocket_bus.config import IPC, endpoint_from, flat, load, path_from
from hocket_bus.endpoints import check_endpoint, from_here, is_tcp
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.trust.private import private_folder, write_whole
from hocket_tools.pair.hints import home_flag
from hocket_tools.settings import Value, commented, toml
from hocket_tools.text_file import TextFile

if TYPE_CHECKING:
    from hocket_bus.trust.pins import Pins

_BEFORE = {"keys", "logs", "models", "profiles", "run", "up.lock"}  # what is made in a pair's folder before it is one
NAMES = ("cloud-retrieval", "device-retrieval", "cloud", "device")
GATEWAY = "serve"  # the HTTP gateway, which is no daemon: it has a file where it is wanted
NOTHING: Mapping[str, Value] = MappingProxyType({})
SideName = Literal["device", "cloud"]
_LEDGER = "device-ledger.db"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of a pair; `at` is absolute."""

    at: Path

    @classmethod
    def find(cls, folder: Path | None = None) -> Home:
        """The pair in `folder`, else the one of this user."""
        return cls(paths.expanded(folder or paths.home()).absolute())

    def config(self, name: str) -> Path:
        """The configuration file of a daemon."""
        return self.at / f"{name}.toml"

    def log(self, name: str) -> Path:
        """The log file of a daemon."""
        return self.at / "logs" / f"{name}.log"

    def pid(self, name: str) -> Path:
        """Return the file that holds the process id of a daemon."""
        return self.at / "run" / f"{name}.pid"

    def endpoint(self, name: str) -> str:
        """Return the endpoint where a daemon is configured to listen at first."""
        return paths.endpoint(name, self.at)

    def require(self, name: str) -> None:
        """Raise BadConfiguration where a daemon has no configuration file, BadRequest where its side is not here."""
        self._check_side(name)
        if not self.config(name).exists():
            text = f"no pair in {self.at}, which has no {name}.toml"
            raise BadConfiguration(text, f"make one: hocket up{home_flag(self.at)}")

    def reached(self, name: str) -> str:
        """Return where a command reaches a daemon. Raises BadConfiguration, BadRequest where its side is not here."""
        self._check_side(name)
        return self.listening(name)

    def listening(self, name: str) -> str:
        """Return where this machine reaches a daemon, by its present configuration file. Raises BadConfiguration."""
        if not self.config(name).exists():
            return self.endpoint(name)
        endpoint = self._endpoint(name, "endpoint")
        if not endpoint:
            raise BadConfiguration(f"{self.config(name)}: no endpoint", 'add a line: endpoint = "ipc://run/NAME"')
        return from_here(endpoint)

    def _check_side(self, name: str) -> None:
        """Raise BadRequest where only the other side is here; a home without configuration may become a pair."""
        here = {side_of(each) for each in NAMES if self.config(each).exists()}
        if here and side_of(name) not in here:
            (side,) = here
            text = f"this machine is a {side} alone: {self.at} has no {name}.toml"
            raise BadRequest(text, f"run this on the {side_of(name)}, or name the pair's folder: --home PATH")

    def advertised(self) -> str:
        """Return where other machines reach the cloud daemon here. Raises BadConfiguration."""
        return self._endpoint("cloud", "advertise") or self._endpoint("cloud", "endpoint")

    def peer(self) -> str:
        """Return the cloud's address in the device's configuration file; empty without one. Raises BadConfiguration."""
        return self._endpoint("device", "cloud") if self.config("device").exists() else ""

    def strays(self) -> list[str]:
        """A line for each file that names another pair's folder, as older files do after a move."""
        lines = []
        for name in (name for name in NAMES if self.config(name).exists()):
            own, written = flat(self._given(name)), flat(self._values(name))
            others = {_other_home(str(written.get(key, "")), str(value)) for key, value in own.items()}
            lines += [
                f"{self.config(name)} names another folder, {other}: write paths from here, such as {own['endpoint']}"
                for other in sorted(others - {"", str(self.at)})
            ]
        return lines

    @property
    def is_pair(self) -> bool:
        """Tell whether the device here is configured for the cloud here. Raises BadConfiguration."""
        return self.peer() == self.listening("cloud")

    def ledger(self) -> Path:
        """The file that counts what left the device. Raises BadConfiguration where none is kept."""
        ledger = path_from(self.at, self._text("device", "egress.ledger"))
        if not ledger:
            text = f"{self.config('device')}: no ledger is kept"
            raise BadConfiguration(text, f'add under [egress]: ledger = "{_LEDGER}"')
        return Path(ledger)

    def pins(self) -> Pins:
        """The keys of other devices that this one has pinned; none where there is no device, or no ledger."""
        from hocket_bus.trust.pins import Pins

        ledger = self._text("device", "egress.ledger") if self.config("device").exists() else ""
        return Pins.beside(Path(path_from(self.at, ledger)) if ledger else None)

    def decisions(self, side: str) -> Path:
        """The file of a side's decision records. Raises BadConfiguration where none is kept."""
        kept = path_from(self.at, self._text(side, "decisions"))
        if not kept:
            text = f"{self.config(side)}: no decision records are kept"
            raise BadConfiguration(text, f'add a line: decisions = "{_decisions(side)}"')
        return Path(kept)

    @property
    def names(self) -> tuple[str, ...]:
        """The daemons that belong here: all four, or those of the only side that is configured."""
        sides = {side_of(name) for name in NAMES if self.config(name).exists()}
        return tuple(name for name in NAMES if len(sides) != 1 or side_of(name) in sides)

    def side(self) -> SideName:
        """Return this machine's side of a pair with another one. Raises BadConfiguration where that is not clear."""
        if self.config("cloud").exists() and is_tcp(self.listening("cloud")):
            if self.config("device").exists():
                raise BadConfiguration(
                    f"{self.at} has files of both sides", "choose one: --side device, or --side cloud"
                )
            return "cloud"
        if self.config("device").exists():
            return "device"
        raise BadConfiguration(f"no side of a pair in {self.at}", "make it one: hocket init device, or init cloud")

    def name(self, side: SideName) -> str:
        """Return the name that this machine gives itself. Raises BadConfiguration."""
        return str(self._values(side).get("name", "")) or f"{platform.node().split('.')[0] or 'machine'}-{side}"

    def set_peer(self, endpoint: str) -> None:
        """Let the device find the cloud there, from its next start on. Raises BadConfiguration."""
        self._values("device")
        file, line = TextFile(self.config("device")), f"cloud = {toml(endpoint)}"
        text = file.text
        table = re.search(r"(?m)^\[", text)
        head, tables = text[: table.start()] if table else text, text[table.start() :] if table else ""
        changed, count = re.subn(r"(?m)^#?cloud[ \t]*=.*$", lambda _: line, head, count=1)
        file.save((changed if count else f"{line}\n{head}") + tables)

    def stop_sharing(self) -> None:
        """Let no summaries leave the device, from its next start on. Raises BadConfiguration."""
        self._values("device")
        file = TextFile(self.config("device"))
        text, count = re.subn(r"(?m)^#?summaries[ \t]*=.*$", "summaries = false", file.text)
        if not count:
            raise BadConfiguration(f"{file.path}: no key summaries", "add under [egress]: summaries = false")
        file.save(text)

    def begin(self) -> None:
        """Make the folder alone. Raises BadConfiguration where it is others', or cannot hold sockets."""
        for name in self.names:
            check_endpoint(self.endpoint(name))
        self._begin()

    def prepare(self) -> None:
        """Make what is missing; files that are there are left as they are. Raises BadConfiguration."""
        self.begin()
        self._write({name: self._given(name) for name in self.names})

    def prepare_side(
        self, side: SideName, name: str, at: str, more: Mapping[str, Value] = MappingProxyType({})
    ) -> None:
        """Make the missing files of one side, called `name`, listening `at` or by default. Raises BadConfiguration.

        `more` has further values for its file, by dotted name.
        """
        own: dict[str, Value] = {"name": name, **more}
        own |= ({"endpoint": at} if at else {}) | ({"cloud": ""} if side == "device" else {})
        retrieval = f"{side}-retrieval"
        self._write({retrieval: self._given(retrieval), side: self._given(side) | own})

    def check(self) -> None:
        """Read each file as its daemon will, so that a mistake is known before any starts. Raises BadConfiguration."""
        for name in self.names:
            load(self.config(name), _settings(name))

    def _write(self, files: Mapping[str, Mapping[str, Value]]) -> None:
        self._begin()
        for folder in (self.at / "run", self.at / "logs"):
            private_folder(folder)
        missing = {
            name: commented(_settings(name), given) for name, given in files.items() if not self.config(name).exists()
        }
        try:
            for name, text in missing.items():
                write_whole(self.config(name), text)
        except BaseException:  # some files alone would be taken for one side of a pair with another machine
            for name in missing:
                self.config(name).unlink(missing_ok=True)
            raise

    def _begin(self) -> None:
        """Make the folder, closed to all other users. Raises BadConfiguration for a folder that others use."""
        shared = self.at.is_dir() and self.at.stat().st_mode & 0o077
        if shared and not any(self.config(name).exists() for name in NAMES) and {*os.listdir(self.at)} - _BEFORE:
            raise BadConfiguration(f"{self.at} has other files, and others may read it", "name a new folder")
        private_folder(self.at)

    def _values(self, name: str) -> dict[str, Any]:
        self.require(name)
        config = self.config(name)
        try:
            return tomllib.loads(config.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadConfiguration(f"{config}: {error}", "fix the file, or remove it and run: hocket up") from error

    def _endpoint(self, name: str, key: str) -> str:
        return endpoint_from(self.at, self._text(name, key))

    def _text(self, name: str, key: str) -> str:
        """Return the text at a dotted key of a daemon's file; empty where there is no text."""
        value: Any = self._values(name)
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else ""

    def _given(self, name: str) -> dict[str, Value]:
        """Return the initial values of a daemon's file, by dotted name; paths are relative to this folder."""
        side = side_of(name)
        given: dict[str, Value] = {"endpoint": _socket(name)}
        if name != side:
            return given | {"state": f"{side}-documents"}
        given |= {"retrieval": _socket(f"{side}-retrieval"), "kv.folder": f"{side}-kv"}
        given["decisions"] = _decisions(side)
        if side == "device":
            given |= {"cloud": _socket("cloud"), "egress.ledger": _LEDGER}
            given |= {"dispatch.account": "device-account.json", "gate.calibration": "device-gate.json"}
        return given


def side_of(name: str) -> str:
    """The side of a daemon."""
    return name.partition("-")[0]


def _socket(name: str) -> str:
    return f"{IPC}run/{name}"


def _decisions(side: str) -> str:
    return f"{side}-decisions.db"


def _other_home(written: str, own: str) -> str:
    """Return the folder of an absolute path that ends like the default one; empty for any other path."""
    path, tail = written.removeprefix(IPC), "/" + own.removeprefix(IPC)
    return path.removesuffix(tail) if path.startswith("/") and path.endswith(tail) else ""


def _settings(name: str) -> type[Struct]:
    """Return the type of a daemon's settings; imported here, since a command that only asks does not need it."""
    from hocket_daemon.config import CloudSettings, DeviceSettings
    from hocket_retrieval.config import RetrievalConfig

    if name.endswith("-retrieval"):
        return RetrievalConfig
    return CloudSettings if name == "cloud" else DeviceSettings
