"""The events of Open Responses as the `openai` package's own models describe them, and whether one fits its kind.

Open Responses wants more fields of a response than that package does (openresponses.org/reference).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

types = pytest.importorskip("openai.types.responses", reason="openai is not installed: hocket[dev]")

OF_A_RESPONSE = (
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id"),
    *("instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p"),
    *("presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "user", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata", "safety_identifier"),
    "prompt_cache_key",
)


@cache
def _validators() -> dict[str, Draft202012Validator]:
    """One for each kind of event."""
    schema: dict[str, Any] = TypeAdapter(types.ResponseStreamEvent).json_schema()
    kinds = {
        definition["properties"]["type"]["const"]: name
        for name, definition in schema["$defs"].items()
        if "sequence_number" in definition.get("properties", {})
    }
    schema["$defs"]["Response"]["required"] = OF_A_RESPONSE
    return {
        kind: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        for kind, name in kinds.items()
    }


def check_event(event: dict[str, Any]) -> None:
    """Raises ValidationError where it is not as its kind is."""
    _validators()[event["type"]].validate(event)
