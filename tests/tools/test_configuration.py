"""Laws of what people read of the configuration: the files that `hocket up` writes, and the page of all keys."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

from hocket_bus.config import FOR_EXPERTS, load
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_gateway.settings import ServeSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_tools.configuration import PAGE, page
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.settings import EXPERT_INTRODUCTION, WIDTH, Key, Table, commented, tables
from waiting import WAIT_S

ROOT = Path(__file__).resolve().parents[2]
KINDS: dict[str, Any] = {"device": DeviceSettings, "cloud": CloudSettings} | dict.fromkeys(
    ("device-retrieval", "cloud-retrieval"), RetrievalConfig
)


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
        nested = isinstance(value, dict) and value  # an empty one is a value itself
        found |= flat(value, f"{key}.") if nested else {f"{table}{key}": value}
    return found


def defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What people may set and its default; None where there is none."""
    required = {field.name: None for field in msgspec.structs.fields(kind) if field.required}
    return flat(msgspec.to_builtins(kind(**dict.fromkeys(required, "")))) | required


@pytest.mark.parametrize("name", NAMES)
def test_a_line_that_is_commented_out_shows_the_default(home: Home, name: str) -> None:
    """With all of them in force the file says the same as without, and no key is missing."""
    as_written = load(home.config(name), KINDS[name])
    text = re.sub(r"(?m)^#(?=[\w.]+ = )", "", home.config(name).read_text(encoding="utf-8"))
    home.config(name).write_text(text, encoding="utf-8")
    assert load(home.config(name), KINDS[name]) == as_written
    written = {key.removeprefix("expert.") for key in flat(tomllib.loads(text))}
    assert written == set(defaults(KINDS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_explained_above_it(home: Home, name: str) -> None:
    """By a comment that is no key; a file fits a terminal."""
    lines = home.config(name).read_text(encoding="utf-8").splitlines()
    keys = [number for number, line in enumerate(lines) if re.match(r"#?[\w.]+ = ", line)]
    assert all(re.match(r"# \S", lines[number - 1]) for number in keys)
    assert all(len(line) <= WIDTH for line in lines if line.startswith("# "))


def test_whoever_only_asks_loads_no_model() -> None:
    """The folder of a pair is found without the settings of its daemons."""
    code = "import sys, hocket_tools.pair.home; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=WAIT_S, check=False).returncode == 0


def test_the_page_is_what_the_settings_say() -> None:
    """After a change of a setting: python -m hocket_tools.configuration."""
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page()


def test_the_page_tells_every_key_and_its_default() -> None:
    """Nothing is missing, and the defaults are those of the program."""
    rows = re.findall(r"(?m)^\| `(?:\w+\.)?(\w+)` \| (?:`(.+?)`|must be set) \|", page())
    told = {(key, _hashable(tomllib.loads(f"x = {default}")["x"]) if default else None) for key, default in rows}
    kinds = (DeviceSettings, CloudSettings, RetrievalConfig, ServeSettings)
    assert told == {
        (key.rpartition(".")[2], _hashable(default)) for kind in kinds for key, default in defaults(kind).items()
    }


class _Inner(msgspec.Struct, frozen=True):
    """Inside."""

    shown: Annotated[int, msgspec.Meta(description="how many")] = 20_000
    rare: Annotated[int, msgspec.Meta(description="how seldom"), FOR_EXPERTS] = 3


class _Outer(msgspec.Struct, frozen=True, kw_only=True):
    """A file.

    More is said of it here.
    """

    must: Annotated[str, msgspec.Meta(min_length=1, description="where")]
    inner: Annotated[_Inner, msgspec.Meta(description="a table")] = _Inner()


def test_a_record_inside_a_record_is_a_table() -> None:
    """Its introduction is the first paragraph of its docstring; what few change is the last one."""
    assert tables(_Outer) == [
        Table("", "A file.", (Key("must", None, "where"),)),
        Table("inner", "Inside.", (Key("shown", 20_000, "how many"),)),
        Table("expert", EXPERT_INTRODUCTION, (Key("inner.rare", 3, "how seldom"),)),
    ]
    text = commented(_Outer, {"must": 'a "quoted" place'})
    assert tomllib.loads(text) == {"must": 'a "quoted" place', "inner": {}, "expert": {}}
    assert "\n# how many\n#shown = 20_000\n" in text
    assert "\n# how seldom\n#inner.rare = 3\n" in text


def _hashable(value: object) -> object:
    return tuple(value) if isinstance(value, list | dict) else value
