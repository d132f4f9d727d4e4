"""The format that a program wants its answer in: any text, or JSON that fits a schema."""

from __future__ import annotations

from typing import Any

from hocket_bus.messages import Done

from ..http.refusals import Refusal

ANY_OBJECT: dict[str, object] = {"type": "object"}
_BEGINS_JSON = frozenset('{["-0123456789tfn')


def schema_of(wanted: dict[str, Any] | None, param: str) -> dict[str, object] | None:
    """Return the JSON Schema that OpenAI's APIs ask for, in the field `param`; None: any text. Raises Refusal."""
    kind = (wanted or {}).get("type", "text")
    if wanted is None or kind == "text":
        return None
    if kind == "json_object":
        return ANY_OBJECT
    if kind != "json_schema":
        text = f"the format '{str(kind)[:50]}' is not supported"
        raise Refusal(400, text, "use text, json_object or json_schema", "bad_request", param=param)
    return _schema(wanted.get("json_schema", wanted), param)


def _schema(named: object, param: str) -> dict[str, object]:
    found = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(found, dict):
        text = "json_schema has no schema that is an object"
        raise Refusal(400, text, "send a JSON Schema, or the format json_object", "bad_request", param=param)
    return found


def is_refusal(done: Done) -> bool:
    """Tell whether an answer that was to be JSON says instead that nothing that was read is about the question."""
    return done.finish == "unknown"


def begins_json(text: str) -> bool:
    """Tell whether an answer that was to be JSON begins as such: what is written in its place is a sentence."""
    return text.lstrip()[:1] in _BEGINS_JSON
