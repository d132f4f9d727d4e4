"""Laws of what people read of the configuration: the files that `hocket up` writes, and the page of all keys."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hocket_bus import paths
from hocket_bus.config import load
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_tools.pair.home import NAMES, Home

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
KINDS: dict[str, Any] = {"device": DeviceSettings, "cloud": CloudSettings} | dict.fromkeys(
    ("device-retrieval", "cloud-retrieval"), RetrievalConfig
)
FOR_BENCHMARKS = {"aggregating", "model.hold_decode_s"}


@pytest.fixture
def home() -> Iterator[Home]:
    """A folder whose path is short enough for sockets, with the four files."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = Home(Path(folder))
        made.prepare()
        yield made


def flat(values: dict[str, Any], table: str = "") -> dict[str, Any]:
    """Keys with their tables' names before them."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{key}.") if isinstance(value, dict) else {f"{table}{key}": value}
    return found


def defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What people may set and its default; None where there is none."""
    required = {field.name: None for field in msgspec.structs.fields(kind) if field.required}
    found = flat(msgspec.to_builtins(kind(**dict.fromkeys(required, "")))) | required
    return {key: value for key, value in found.items() if key not in FOR_BENCHMARKS}


@pytest.mark.parametrize("name", NAMES)
def test_a_line_that_is_commented_out_shows_the_default(home: Home, name: str) -> None:
    """With all of them in force the file says the same as without, and no key is missing."""
    as_written = load(home.config(name), KINDS[name])
    text = re.sub(r"(?m)^# (?=\w+ = )", "", home.config(name).read_text(encoding="utf-8"))
    home.config(name).write_text(text, encoding="utf-8")
    in_force = load(home.config(name), KINDS[name])
    assert in_force.keys == str(paths.keys(home.at))  # what the empty default means
    assert msgspec.structs.replace(in_force, keys="") == as_written
    assert set(flat(tomllib.loads(text))) == set(defaults(KINDS[name]))


def told() -> dict[str, dict[str, Any]]:
    """The page's keys and defaults by heading and introduction, in order."""
    heading = ""
    tables: dict[str, dict[str, Any]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if row := re.match(r"\| `(\w+)` \| (?:`(.+?)`|must be set) \|", line):
            key, default = row.groups()
            tables[heading][key] = tomllib.loads(f"x = {default}")["x"] if default else None
        elif line and not line.startswith("|"):
            heading = line.strip("# `")
            tables[heading] = {}
    return {heading: keys for heading, keys in tables.items() if keys}


def test_the_page_tells_every_key_and_its_default() -> None:
    """Nothing is missing, nothing else is there, and the defaults are those of the program."""
    both, device, cloud, *tables, retrieval = told().values()
    model, kv, egress = (
        {f"{table}.{key}": default for key, default in keys.items()}
        for table, keys in zip(("model", "kv", "egress"), tables, strict=True)
    )
    assert both | device | model | kv | egress == defaults(DeviceSettings)
    assert both | cloud | model | kv == defaults(CloudSettings)
    assert retrieval == defaults(RetrievalConfig)
