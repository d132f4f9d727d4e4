"""Refusals of requests: HTTP's status, one line with what to do, and the error format of each API."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hocket_bus import as_json
from hocket_bus.errors import (
    BadRequest,
    Busy,
    Cancelled,
    DeadlineExceeded,
    Forbidden,
    HocketError,
    ProtocolError,
    Unavailable,
)

if TYPE_CHECKING:
    from starlette.responses import Response

PRIVATE = {  # of every answer: nothing keeps it, and no page of others has it in itself
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
OLLAMA = "/api/"  # paths with Ollama's shapes; all others have OpenAI's
STATUSES: tuple[tuple[type[HocketError], int], ...] = (
    (BadRequest, 400),
    (Busy, 429),
    (Forbidden, 403),
    (Unavailable, 503),
    (Cancelled, 503),
    (DeadlineExceeded, 504),
    (ProtocolError, 502),
)
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A refusal of a request with this status. `code` is for programs, `param` names the field that is meant."""

    def __init__(
        self, status: int, text: str, remedy: str, code: str = "", *, param: str = "", retry_after_s: float = 0.0
    ) -> None:
        super().__init__(f"{text}: {remedy}" if remedy else text)
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    @classmethod
    def of(cls, error: HocketError) -> Refusal:
        """Return the refusal that an error of the daemons becomes."""
        status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
        retry_after_s = error.retry_after_s if isinstance(error, Busy) else 0.0
        return cls(status, error.text, error.remedy, error.code, retry_after_s=retry_after_s)

    def openai(self) -> dict[str, Any]:
        """Return the refusal in OpenAI's format."""
        kind = TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {
            "error": {"message": str(self), "type": kind, "param": self.param or None, "code": self.code or None},
        }

    def ollama(self) -> dict[str, Any]:
        """Return the refusal in Ollama's format."""
        return {"error": str(self)}

    def response(self, path: str) -> Response:
        """Return the whole answer to a request for `path`."""
        from starlette.responses import Response

        body = self.ollama() if path.startswith(OLLAMA) else self.openai()
        headers = PRIVATE | ({"retry-after": str(math.ceil(self.retry_after_s))} if self.retry_after_s else {})
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return Response(as_json.encoded(body), self.status, headers, "application/json")


def unsupported(param: str, text: str, remedy: str) -> Refusal:
    """Return the refusal of a feature or value that is not supported."""
    return Refusal(400, text, remedy, "unsupported_value", param=param)
