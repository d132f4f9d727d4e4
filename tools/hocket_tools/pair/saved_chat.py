"""The stored turns of a conversation: JSON, for their owner alone."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hocket_bus import as_json
from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Turn
from hocket_bus.trust.private import write_whole


class _Saved(msgspec.Struct, frozen=True):
    """A turn in the file, its fields by name, so that people can read it."""

    query: str
    answer: str


def saved_turns(file: Path) -> list[Turn]:
    """Return the turns, the oldest first; none where there is no file. Raises BadConfiguration."""
    if not file.exists():
        return []
    try:
        found = msgspec.json.decode(file.read_bytes(), type=list[_Saved])
    except (OSError, msgspec.MsgspecError) as error:
        raise BadConfiguration(f"{file} holds no conversation: {error}", "start another: hocket chat --new") from error
    return [Turn(query=each.query, answer=each.answer) for each in found]


def save_turns(file: Path, turns: list[Turn]) -> None:
    """Write the turns, whole or not at all."""
    saved = [_Saved(turn.query, turn.answer) for turn in turns]
    write_whole(file, as_json.indented(saved))
