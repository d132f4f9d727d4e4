"""Answers that are JSON: the grammar of a JSON Schema, and the line by which a model is asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hocket_bus import as_json

SHOWN_CHARS = 2_000  # of a schema: the model reads no longer one, and is held to it all the same
_WRITTEN: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def grammar_of(schema: Mapping[str, object]) -> str:
    """Return the grammar of the JSON texts that fit a JSON Schema, with a blank after each comma and colon."""
    return f"start: {json_rule(schema)}"


def json_rule(schema: Mapping[str, object]) -> str:
    """Return what a rule of a grammar says for the JSON texts that fit a schema."""
    return f"%json {as_json.text({**schema, 'x-guidance': _WRITTEN})}"


def request_for(schema: Mapping[str, object]) -> str:
    """Return the line that asks a model for JSON that fits a schema."""
    written = as_json.text(schema)
    if set(schema) <= {"type"}:
        return f"Answer with one JSON {schema.get('type', 'value')} and nothing else."
    if len(written) > SHOWN_CHARS:
        return "Answer with JSON and nothing else."
    return f"Answer with JSON that fits this JSON Schema and nothing else: {written}"
