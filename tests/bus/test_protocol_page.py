"""docs/protocol.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import zmq

from hocket_bus.ends import GONE_AFTER_S, MAX_ENDS
from hocket_bus.limits.connections import (
    MAX_MUTE,
    MAX_OF_KEY,
    MAX_TOPICS_OF_KEY,
    MAX_UNHEARD,
    MAX_WAITING_BYTES,
    MUTE_S,
)
from hocket_bus.limits.malformed import MAX_MALFORMED
from hocket_bus.limits.shares import BURST_BYTES, RATE_BYTES, REFUSED_S
from hocket_bus.messages import BY_CODE, CLASS_OF, NEEDS_OF, PROTOCOL_VERSION, RIGHTS
from hocket_bus.sockets.connection_limits import MAX_CONNECTIONS
from hocket_bus.sockets.inbound_limit import BURST_FRAMES, FRAMES_PER_S
from hocket_bus.sockets.server import ROUTER_OPTIONS, TOPIC_BYTES
from hocket_bus.topics import MAX_TOPICS
from hocket_bus.trust.keys import SELF

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


def test_every_message_stands_in_the_table_with_its_code() -> None:
    """The table's rows, spelled out, are the codec's closed table."""
    documented = {}
    for codes, names in re.findall(r"^\| ([\d–, ]+) \| (`.+?`) \|", PAGE, flags=re.M):
        ends = [int(code) for code in re.findall(r"\d+", codes)]
        numbers = range(ends[0], ends[-1] + 1)
        documented |= dict(zip(numbers, re.findall(r"`(\w+)`", names), strict=True))
    assert documented == {code: kind.__name__ for code, kind in BY_CODE.items()}


def test_every_message_stands_in_the_table_of_classes() -> None:
    """Once, under the class that the code gives it; messages by name or by ranges of codes."""
    documented = {}
    for names, messages in re.findall(r"^\| (`.+`) \| (.+) \|$", PAGE.partition("### Classes")[2], flags=re.M):
        kinds = {kind for kind in BY_CODE.values() if f"`{kind.__name__}`" in messages}
        for first, last in re.findall(r"(\d+)–(\d+)", messages):
            kinds |= {BY_CODE[code] for code in range(int(first), int(last) + 1)}
        for kind in kinds:
            assert documented.setdefault(kind, names.strip("`")) == names.strip("`")
    assert documented == CLASS_OF


def test_the_table_of_rights_is_the_codes() -> None:
    """Which messages need which right; those that it does not name no binding end takes."""
    table = PAGE.partition("### Rights")[2].partition("###")[0]
    rows = dict(re.findall(r"^\| `?(\w+)`? \| (.+) \|$", table, flags=re.M))
    named = {"nothing": rows["any"]} | {right: rows[right] for right in RIGHTS if right != "dial"}
    documented = {
        kind: needs for needs, row in named.items() for kind in BY_CODE.values() if f"`{kind.__name__}`" in row
    }
    assert documented == {kind: needs for kind, needs in NEEDS_OF.items() if needs != "never"}


def test_the_version_is_the_codes() -> None:
    """The page is about the version spoken."""
    assert PAGE.startswith(f"# Protocol, version {PROTOCOL_VERSION}\n")


def test_bounds_are_the_codes() -> None:
    """The numbers that the rules name."""
    rules = " ".join(PAGE.partition("## Rules")[2].split())
    for fact in (
        f"come over its connection for {GONE_AFTER_S:.0f} s",
        f"A daemon remembers {MAX_ENDS:,} ends",
        f"is named `{SELF}`",
        f"of each key the newest {MAX_TOPICS:,}",
        f"A key that sends {MAX_MALFORMED} malformed messages",
        f"for the next {REFUSED_S:.0f} s",
        f"at most {RATE_BYTES >> 20} MiB a second, {BURST_BYTES >> 20} MiB at once",
        f"at most {MAX_OF_KEY} connections",
        f"at most {MAX_TOPICS_OF_KEY} topics",
        f"is ended after {MUTE_S:.0f} s",
        f"has more than {MAX_MUTE} of them",
        f"was let in {MAX_UNHEARD} times",
        f"at most {MAX_CONNECTIONS:,} connections",
        f"more than {MAX_WAITING_BYTES >> 20} MiB that wait",
        f"more than {BURST_FRAMES:,} frames at once and {FRAMES_PER_S:,} a second",
        f"hold {ROUTER_OPTIONS[zmq.RCVHWM]} messages",
        f"Topics are {TOPIC_BYTES} bytes",
    ):
        assert fact in rules, fact
