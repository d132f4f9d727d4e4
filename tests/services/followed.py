"""A server and a laptop as docs/systemd.md makes them: each step is a block of the page, run as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from machines_booted import Machine, two_machines
from page import block

from waiting import until

QUESTION = "What is the town like where Linnea Varga lives?"
PRIVATE = "Linnea Varga lives in Oakhaven, two streets from the lighthouse. Her parrot is called Quillfeather."
PUBLIC = "Oakhaven is a town on the northern coast. The lighthouse of Oakhaven was built of granite in 1874."
ASK = f"{block('Start a laptop', 'HOCKET_ENDPOINT').splitlines()[0]}\nhocket ask --seed 1 '{QUESTION}'"
BOTH = (r"%\s+device\s", r"%\s+cloud\s")  # the shares below an answer


class Unit(NamedTuple):
    """A service on one of the two machines."""

    machine: Machine
    name: str

    @property
    def process(self) -> str:
        """The number of its main process; 0 while there is none."""
        return self.machine.ask(f"systemctl show -P MainPID {self.name}").strip()

    @property
    def is_active(self) -> bool:
        """Whether systemd takes it for ready."""
        return self.machine.ask(f"systemctl is-active {self.name}").strip() == "active"

    def is_back(self, former: str) -> bool:
        """Whether another process than the `former` one is ready."""
        return self.is_active and self.process not in (former, "0")


class Booted(NamedTuple):
    """The pair."""

    server: Machine
    laptop: Machine

    @property
    def units(self) -> list[Unit]:
        """Every service of both machines."""
        server = [Unit(self.server, name) for name in ("hocket-retrieval@cloud", "hocket-cloud")]
        laptop = ("hocket-retrieval@device", "hocket-device", "hocket-serve")
        return server + [Unit(self.laptop, name) for name in laptop]

    def journals(self) -> str:
        """The last lines that each unit wrote."""
        ends = (unit.machine.ask(f"systemctl status --no-pager -n 20 {unit.name}") for unit in self.units)
        return "\n".join(ends)

    def answers_with_both(self) -> bool:
        """Whether both sides write the answer to anna's question."""
        return self.laptop.attempt(ASK.replace("hocket ask", "hocket ask --require-cloud"), "anna")[0] == 0


@contextmanager
def followed(folder: Path) -> Iterator[Booted]:
    """Both machines, paired, with a document each, and anna who may ask on the laptop."""
    with two_machines(folder) as (server, laptop):
        with ThreadPoolExecutor(2) as both:
            list(both.map(_install, (server, laptop)))
        server.run(block("Start a server", "sed -i"))
        _pair(server, laptop)
        edit(laptop, "hocket-device", block("Start a laptop", "IPAddressAllow=192.0.2.7"))
        laptop.run("useradd --create-home anna; useradd --create-home bob")
        laptop.run(block("Start a laptop", "usermod"))
        _ingest(laptop, "device", PRIVATE)
        _ingest(server, "cloud", PUBLIC)
        laptop.run(block("The HTTP gateway", "systemctl enable"))
        yield Booted(server, laptop)


def edit(machine: Machine, unit: str, lines: str) -> None:
    """`systemctl edit`, by an editor that writes these lines."""
    (machine.root / "root/lines").write_text(lines)
    editor = machine.root / "root/editor"
    editor.write_text('#!/bin/sh\ncat /root/lines > "$1"\n')
    editor.chmod(0o755)
    machine.run(f"SYSTEMD_EDITOR=/root/editor script -qec 'systemctl edit {unit}' /dev/null")


def get_model(machine: Machine) -> None:
    """The published model, by the page."""
    machine.run(block("Install", "hocket model get"))


def _install(machine: Machine) -> None:
    environment, packages = re.split(r"(?m)^(?=/opt/hocket/bin/pip)", block("Install", "python3 -m venv"), maxsplit=1)
    machine.run(environment)
    machine.bring_packages()
    machine.run(packages)


def _pair(server: Machine, laptop: Machine) -> None:
    code = code_in(server.run(block("Start a server", "hocket\n")))
    laptop.run(block("Start a laptop", " CODE").replace("CODE", code))
    server.run(block("Start a server", " CODE").replace("CODE", code_of(laptop)))


def code_of(laptop: Machine) -> str:
    """What the laptop shows for the server."""
    return code_in(laptop.run(block("Start a laptop", "hocket\n")))


def code_in(said: str) -> str:
    """The code for the other machine that `hocket pair` shows."""
    return re.findall(r"hocket1-\S+", said)[0]


def _ingest(machine: Machine, side: str, text: str) -> None:
    folder = machine.root / "srv/documents"
    folder.mkdir(parents=True)
    (folder / f"{side}.md").write_text(text)
    (line,) = [line for line in block("Ingest documents", "hocket ingest").splitlines() if f"--side {side}" in line]
    machine.run(line.replace("PATH", "/srv/documents"))


def until_answered(booted: Booted) -> None:
    """Wait until both sides answer together."""
    until(booted.answers_with_both, every_s=0.5, said=lambda: booted.laptop.attempt(ASK, "anna")[1])
