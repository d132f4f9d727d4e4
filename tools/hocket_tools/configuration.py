"""Generator of docs/configuration.md from the settings' own descriptions: every key of every file, with its default."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hocket_bus.config import EXPERT
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_gateway.settings import ServeSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_tools.settings import Key, Table, tables, toml

PAGE = Path("docs/configuration.md")

INTRODUCTION = """\
# Configuration

Each daemon reads one TOML file, which its `--config` names. `hocket up` writes the four files of a pair, with every key
explained. [The units for systemd](systemd.md) bring files with the few keys that a server needs.

A key that a file does not set has the default below. A wrong key or value stops the daemon with one line that names it
(exit status 78). A change takes effect at the next start.

`python -m hocket_tools.configuration` makes this page from the settings' own descriptions.
"""
COLUMNS = "| key | default | what it is |\n| --- | --- | --- |\n"


def page() -> str:
    """The whole page, as Markdown."""
    device, cloud = ({table.name: table for table in tables(kind)} for kind in (DeviceSettings, CloudSettings))
    last = {name: name == EXPERT for name in device | cloud}
    both = [_shared(name, device.get(name), cloud.get(name)) for name in sorted(last, key=lambda name: last[name])]
    own, *parts = tables(RetrievalConfig)
    retrieval = f"\n## Retrieval: `device-retrieval.toml`, `cloud-retrieval.toml`\n\n{_rows(own.keys)}"
    serve, *serving = tables(ServeSettings)
    front = f"\n## HTTP gateway: `serve.toml`\n\n{_rows(serve.keys)}"
    more = [f"\n### `[{table.name}]` of `serve.toml`\n\n{_rows(table.keys)}" for table in serving]
    return INTRODUCTION + "".join([*both, retrieval, *map(_of_retrieval, parts), front, *more])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def _shared(name: str, device: Table | None, cloud: Table | None) -> str:
    """A table of the two daemons' files: the keys of both, then those of one side alone."""
    either = device or cloud
    assert either is not None
    head = f"### `[{name}]`\n\n{_linked(either.introduction)}" if name else "## Device and cloud"
    parts = [f"\n{head}\n" if name else f"\n{head}: `device.toml`, `cloud.toml`\n"]
    of = [table.keys if table else () for table in (device, cloud)]
    groups = (
        ("", [key for key in of[0] if key in of[1]]),
        ("The device's file only:\n\n", [key for key in of[0] if key not in of[1]]),
        ("The cloud's file only:\n\n", [key for key in of[1] if key not in of[0]]),
    )
    return "".join([*parts, *(f"\n{heading}{_rows(keys)}" for heading, keys in groups if keys)])


def _of_retrieval(table: Table) -> str:
    return f"\n### `[{table.name}]` of retrieval\n\n{_linked(table.introduction)}\n\n{_rows(table.keys)}"


def _rows(keys: Iterable[Key]) -> str:
    return COLUMNS + "".join(_row(key) for key in keys)


def _row(key: Key) -> str:
    default = "must be set" if key.default is None else f"`{toml(key.default)}`"
    return f"| `{key.name}` | {default} | {_linked(key.description)} |\n"


def _linked(text: str) -> str:
    """Return a text with a link for each page of docs/ that it names."""
    return re.sub(r"docs/(\w+\.md)", r"[\1](\1)", text)


if __name__ == "__main__":
    main()
