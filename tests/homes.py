"""Pairs of real processes in temporary homes, whose daemons load tiny models."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exact import table
from hocket_tools.main import run
from hocket_tools.pair import processes
from hocket_tools.pair.home import NAMES, Home


def configured(home: Home, models: dict[str, Path]) -> Home:
    """A prepared home whose daemons load these models."""
    home.prepare()
    for side in ("device", "cloud"):
        text = home.config(side).read_text(encoding="utf-8")
        home.config(side).write_text(text.replace("[model]\n", table(models[side], context=512)), encoding="utf-8")
    return home


@contextmanager
def running(models: dict[str, Path]) -> Iterator[Home]:
    """A running pair with one document a side, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        home = configured(Home(Path(folder) / "pair"), models)
        try:
            assert run(["up", "--home", str(home.at)]) == 0
            (Path(folder) / "bird.md").write_text("# Heron\n\nThe heron stands in the marsh at dawn.\n")
            for side in ("device", "cloud"):
                assert run(["ingest", "--side", side, "--home", str(home.at), f"{folder}/bird.md"]) == 0
            yield home
        finally:
            processes.stop(home, list(NAMES))
        assert [processes.running(home, name) for name in NAMES] == [None] * len(NAMES)
