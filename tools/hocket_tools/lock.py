"""Pins: writes requirements.lock from what is installed; knows package metadata, no index and no network.

Run by `make lock`. Only packages that `hocket[dev]` needs, directly or not, are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

MODELS = "hocket-models"  # weights only: needs no package and is installed from this tree
HEADER = "# Written by `make lock`: every package that hocket[dev] needs, pinned. Install with `make install`.\n"


def closure(root: str) -> dict[str, str]:
    """Installed version of every package that `root` ("name[extra]") needs, by canonical name, our own left out."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(root)]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == MODELS:
            continue
        distribution = metadata.distribution(name)
        if name != "hocket":
            found[name] = distribution.version.partition("+")[0]
        for extra in {"", *requirement.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting.extend(_needs(distribution, extra))
    return found


def _needs(distribution: metadata.Distribution, extra: str) -> Iterator[Requirement]:
    for line in distribution.requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def write(target: Path) -> int:
    """Pin `hocket[dev]` and its build backend into `target`; returns how many packages."""
    pins = closure("hocket[dev]") | closure("hatchling")
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    partial = target.with_name(target.name + ".partial")
    partial.write_text(HEADER + "".join(lines), encoding="utf-8")
    os.replace(partial, target)
    return len(lines)


if __name__ == "__main__":
    write(Path("requirements.lock"))
