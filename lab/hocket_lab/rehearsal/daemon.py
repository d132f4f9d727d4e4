"""`python -m hocket_lab.rehearsal.daemon device --config device.toml`: a daemon that rehearses what a file sets.

Beside `device.toml` stands `device.rehearsal.json`, read at the start, and `device.script`, read as an answer begins.
A missing file sets nothing.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import msgspec

from hocket_daemon.roles import cloud, device
from hocket_daemon.roles.parts import Parts
from hocket_lab.rehearsal.aggregating import Aggregating, scheduler
from hocket_lab.rehearsal.held import HeldCompute, Hold
from hocket_lab.rehearsal.script import scripted
from hocket_tools.commands.daemons.serve import leave

PROGRAM = "hocket_lab.rehearsal.daemon"
SUFFIX = ".rehearsal.json"


class Rehearsal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of one daemon: seconds that a decoding pass takes, holds of its prompts, and who aggregates."""

    decode_s: float = 0.0
    prompts: list[Hold] = []
    aggregating: Aggregating = "scheduler"

    @classmethod
    def beside(cls, config: Path) -> Rehearsal:
        """Return the rehearsal of the daemon with this configuration file; the default where there is none."""
        file = config.with_suffix(SUFFIX)
        return msgspec.json.decode(file.read_bytes(), type=cls) if file.exists() else cls()

    def parts(self, script: Path) -> Parts:
        """Return the parts of such a daemon; its dispatched answers go as `script` says at their beginning."""
        compute = partial(HeldCompute, decode_s=self.decode_s, prompts=self.prompts)
        return Parts(compute, partial(scheduler, self.aggregating), scripted(partial(_text, script)))

    def save(self, config: Path) -> None:
        """Write the rehearsal for the daemon with this configuration file."""
        config.with_suffix(SUFFIX).write_bytes(msgspec.json.encode(self))


def script_of(config: Path) -> Path:
    """Return the path of the script of a device with this configuration file."""
    return config.with_suffix(".script")


def main() -> None:
    """Run the daemon in the foreground."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="A daemon that rehearses what a file tells it.")
    parser.add_argument("side", choices=("device", "cloud"))
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the daemon's TOML file")
    options = parser.parse_args()
    rehearsal = Rehearsal.beside(options.config)
    run = device.main if options.side == "device" else cloud.main
    run(options.config, rehearsal.parts(script_of(options.config)))
    leave()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


if __name__ == "__main__":
    main()
