"""The code by which two machines are paired: name, public key and address in one word, nothing of it secret."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

import msgspec

from hocket_bus.endpoints import check_endpoint, is_tcp
from hocket_bus.errors import BadConfiguration, BadRequest

_MARK, _CHECK_BYTES = "hocket1-", 4


@dataclass(frozen=True, slots=True)
class Code:
    """A machine as it introduces itself; `endpoint` is where it is reached, empty for a device."""

    name: str
    key: str
    endpoint: str = ""

    def written(self) -> str:
        """Return the code as letters, digits, dashes and underscores alone, which no messenger and no shell changes."""
        body = msgspec.msgpack.encode((self.name, self.key, self.endpoint))
        return _MARK + base64.urlsafe_b64encode(_check(body) + body).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Code:
        """Return the machine of a code. Raises BadRequest for one that is cut short, mistyped or no code."""
        word = "".join(text.split())
        try:
            if not word.startswith(_MARK):
                raise ValueError("no mark")
            packed = word.removeprefix(_MARK)
            raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
            body = raw[_CHECK_BYTES:]
            if _check(body) != raw[:_CHECK_BYTES]:
                raise ValueError("no checksum")
            code = cls(*msgspec.msgpack.decode(body, type=tuple[str, str, str]))
            if not code.name.isprintable():
                raise ValueError("no name")
            if code.endpoint:
                check_endpoint(code.endpoint)
                if not is_tcp(code.endpoint):
                    raise ValueError("no address of another machine")
        except (ValueError, msgspec.DecodeError, BadConfiguration) as error:
            text = "this is not a complete pairing code"
            raise BadRequest(text, "copy the whole code that hocket pair prints there") from error
        return code


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
