"""Reading of a request's body: limited in length and time, with JSON's content type, and decoded into known fields.

A browser sends JSON on behalf of another site's page only after it has asked whether it may.
"""

from __future__ import annotations

import asyncio
import re
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from .refusals import Refusal
from .unset import without_unset

T = TypeVar("T", bound=msgspec.Struct)
READ_S = 30.0  # from the first byte to the last


async def read(request: Request, kind: type[T], max_bytes: int) -> T:
    """Decode the body as `kind`; unknown fields, and null for fields that are not set, are left out. Raises Refusal."""
    raw = await whole_body(request, max_bytes)
    try:
        if b"null" in raw:
            return msgspec.convert(without_unset(msgspec.json.decode(raw), kind), kind)
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        text, param = _plain(str(error))
        raise Refusal(400, text, "fix this field", "bad_request", param=param) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {error}"[:500], "send one JSON object", "bad_request") from error


async def whole_body(request: Request, max_bytes: int) -> bytes:
    """Return the whole body. Raises Refusal if it is too long, takes too long, or is not declared as JSON."""
    too_long = Refusal(413, f"the request has more than {max_bytes} bytes", "shorten it", "too_long")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise too_long
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(READ_S):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > max_bytes:
                    raise too_long
    except TimeoutError as error:
        raise Refusal(408, f"the request was not complete within {READ_S:.0f} s", "send it again", "timeout") from error
    except ClientDisconnect as error:
        raise Refusal(400, "the connection was closed", "send the request again") from error
    if size and not _is_json(request.headers.getlist("content-type")):
        remedy = "send it with the header 'Content-Type: application/json'"
        raise Refusal(415, "the body is not declared as JSON", remedy, "not_json")
    return b"".join(parts)


def _is_json(types: list[str]) -> bool:
    kind = types[0].partition(";")[0].strip().lower() if len(types) == 1 else ""
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _plain(text: str) -> tuple[str, str]:
    """Split msgspec's error into its text, with the field's path in front, and that path without its root."""
    found = re.search(r" - at `\$\.?(.*)`$", text)
    return (f"{found[1]}: {text[: found.start()]}", found[1]) if found and found[1] else (text, "")
