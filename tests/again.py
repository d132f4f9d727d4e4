"""The whole suite several times in a row, first in its own order and then in others, at last on a machine that is busy.

    python tests/again.py --times 10 --loaded 5

Prints a line for each run and what failed in it, and keeps what pytest said. What stands behind `--` goes to make.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUSY = "while True: pass"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing as fast as they can."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(number: int, said: Path, options: argparse.Namespace) -> bool:
    """One run, whose number is the seed of its order, but for the first; whether nothing failed in it."""
    loaded = number > options.times - options.loaded
    chosen = (f" --shuffle {number}" if number > 1 else "") + (f" --late {number}" if options.late else "")
    environment = os.environ | {"PYTEST_ADDOPTS": os.environ.get("PYTEST_ADDOPTS", "") + chosen}
    began_s = time.monotonic()
    with busy(options.busy if loaded else 0), said.open("w", encoding="utf-8") as file:
        command = ["make", *options.make, "test"]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=file, check=False)
    took_s, load = time.monotonic() - began_s, os.getloadavg()[1]
    lines = said.read_text(encoding="utf-8").splitlines()
    end = next(
        (line for line in reversed(lines) if " in " in line and ("passed" in line or "failed" in line)), "no end"
    )
    beside = f"{options.busy} busy beside" if loaded else "alone"
    print(f"{number:3}  {'green' if done.returncode == 0 else 'RED':5}  {took_s:5.0f} s  {beside}", end="")
    print(f"  load {load:.1f}  {end.strip('= ')}", flush=True)
    for line in lines:
        if line.startswith(("FAILED ", "ERROR ")):
            print(f"     {line}", flush=True)
    return done.returncode == 0


def main() -> int:
    """0 where all runs were green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="how many runs")
    parser.add_argument("--loaded", type=int, default=5, help="how many of them, at the end, are beside busy processes")
    parser.add_argument("--busy", type=int, default=2, help="how many busy processes")
    parser.add_argument("--late", action="store_true", help="messages come late, too")
    parser.add_argument("make", nargs="*", help="for make, such as BIN=/usr/bin")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hocket-again-"))
    print(f"what pytest said: {folder}", flush=True)
    green = [run(number, folder / f"{number}.txt", options) for number in range(1, options.times + 1)]
    print(f"{sum(green)} of {len(green)} green")
    return 0 if all(green) else 1


if __name__ == "__main__":
    sys.exit(main())
