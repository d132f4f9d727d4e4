"""The folder of the open corpora, which `--data` names (lab/docs/benchmarks.md)."""

from __future__ import annotations

from pathlib import Path

from hocket_bus.errors import BadRequest


def require(data: Path, *names: str | Path) -> None:
    """Raise BadRequest for the first file of these that is not under `data`."""
    if missing := next((name for name in names if not (data / name).is_file()), None):
        raise BadRequest(f"no {missing} under {data}", "name the folder of the corpora with --data")
