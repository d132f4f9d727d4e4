"""Pins: the newest packages that pyproject.toml allows on the oldest Python, and whether every Python installs them.

Run by `make lock` and `make check-lock`. pip finds the versions; uv checks them, since it reads the beginnings of files
where pip downloads every one for each Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path("requirements.lock")
OLDEST = "3.11.0"  # what requires-python promises
PYTHONS = (OLDEST, "3.11.2", "3.12", "3.13")
OWN = ("hocket", "hocket-models")  # installed from this tree
HEADER = "# Written by `make lock`: every package that hocket[dev] needs, pinned. Install with `make install`.\n"
RUN_S = 1_800.0
_NOWHERE = str(Path(tempfile.gettempdir(), "hocket-lock"))  # pip wants a target for another Python than its own


def direct(root: str) -> list[str]:
    """Return what `root` ("name[extra]", of this tree) requires from the index, with the extras that it names."""
    found: set[str] = set()
    waiting, seen = [Requirement(root)], set[str]()
    while waiting:
        requirement = waiting.pop()
        if canonicalize_name(requirement.name) not in OWN:
            found.add(str(requirement).partition(";")[0].strip())
        elif str(requirement) not in seen:
            seen.add(str(requirement))
            waiting.extend(_needs(requirement))
    return sorted(found)


def _needs(requirement: Requirement) -> Iterator[Requirement]:
    for line in metadata.requires(requirement.name) or []:
        needed = Requirement(line)
        if needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
        ):
            yield needed


def resolve(requirements: Sequence[str], python: str, *options: str) -> dict[str, str]:
    """The newest version of each package that these need on a Python, by name. Raises SystemExit with pip's reason."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        if problem := _pip(python, "--report", str(report), *options, *requirements):
            raise SystemExit(problem)
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(each["metadata"]["name"]): each["metadata"]["version"] for each in installed}


def problem_on(python: str, lock: Path, *options: str) -> str:
    """Return what keeps a Python from installing a lock, such as a withdrawn version; empty where nothing does."""
    command = ["uv", "pip", "compile", "--no-deps", "--only-binary=:all:", "--no-header", *options]
    return _run([*command, "--python-version", python, "--output-file", os.devnull, str(lock)])


def _pip(python: str, *arguments: str) -> str:
    command = ["pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:"]
    return _run([*command, "--python-version", python, "--target", _NOWHERE, *arguments])


def _run(module: Sequence[str]) -> str:
    """Run a Python module and return what it complains of; empty where it succeeds."""
    command = [sys.executable, "-m", *module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    withdrawn = [line for line in done.stderr.splitlines() if "is yanked" in line]
    return " ".join((withdrawn or [done.stderr[-600:] * (done.returncode != 0)])[0].split())


def write(target: Path) -> int:
    """Pin `hocket[dev]` and its build backend into `target`; return the number of packages."""
    pins = resolve([*direct("hocket[dev]"), "hatchling"], OLDEST)
    lines = [f"{name}=={version.partition('+')[0]}\n" for name, version in sorted(pins.items())]
    partial = target.with_name(target.name + ".partial")
    partial.write_text(HEADER + "".join(lines), encoding="utf-8")
    os.replace(partial, target)
    return len(lines)


def check(lock: Path, pythons: Sequence[str] = PYTHONS) -> bool:
    """Tell whether every Python installs the lock, and print a line for each."""
    problems = {python: problem_on(python, lock) for python in pythons}
    for python, problem in problems.items():
        sys.stdout.write(f"Python {python}: {problem or 'installs every package'}\n")
    return not any(problems.values())


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        sys.exit(not check(LOCK))
    sys.stdout.write(f"{write(LOCK)} packages pinned for Python {OLDEST}\n")
