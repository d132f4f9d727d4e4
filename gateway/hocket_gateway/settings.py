"""Settings of `hocket serve`: a frozen record, the only place of its defaults."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from hocket_bus.config import FOR_EXPERTS, Endpoint, FilePath
from hocket_bus.log import Format, Level
from hocket_bus.messages import MAX_TOKENS

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ServeSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The HTTP gateway: answers programs that speak OpenAI's API or Ollama's (docs/serve.md)."""

    host: Annotated[
        str,
        Meta(
            min_length=1,
            description="address to listen at; any but loopback needs keys",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, lt=1 << 16, description="port to listen at; 0: any free port")] = 8474
    names: Annotated[
        tuple[str, ...],
        Meta(
            description="other host names by which clients reach it, such as `laptop.lan`; requests for any "
            "other name are refused"
        ),
    ] = ()
    origins: Annotated[
        tuple[str, ...],
        Meta(
            description="origins of web pages that may send requests from a browser, such as "
            "`https://chat.example`; all others are refused"
        ),
    ] = ()
    device: Annotated[Endpoint, Meta(description="address of the device daemon; empty: that of this user's pair")] = ""
    retrieval: Annotated[
        Endpoint,
        Meta(description="address of the device's retrieval daemon, for the text of cited passages; empty: none"),
    ] = ""
    keys: Annotated[
        FilePath,
        Meta(description="folder of this machine's keys, required for tcp; empty: the folder that `hocket keys` uses"),
    ] = ""
    people: Annotated[
        FilePath,
        Meta(description="file of people's keys (`hocket serve keys`); if it exists, every request needs a key"),
    ] = ""
    responses: Annotated[
        FilePath,
        Meta(
            description="file of stored responses that clients may refer to (`/v1/responses`); empty: none are stored"
        ),
    ] = ""
    uploads: Annotated[
        FilePath, Meta(description="folder for documents uploaded over HTTP; empty: uploads are refused")
    ] = ""
    watched: Annotated[
        FilePath, Meta(description="file that lists folders to read again whenever they change; empty: none")
    ] = ""
    max_upload_bytes: Annotated[int, Meta(ge=1, description="maximum size of an uploaded document, in bytes")] = (
        256 << 20
    )
    max_tokens: Annotated[
        int, Meta(ge=1, le=MAX_TOKENS, description="maximum tokens of an answer, if the request sets no limit")
    ] = 256
    deadline_s: Annotated[float, Meta(gt=0, le=86_400, description="maximum time for an answer, in seconds")] = 600.0
    at_once: Annotated[int, Meta(ge=1, description="concurrent questions per key, if the key sets no limit")] = 8
    a_minute: Annotated[int, Meta(ge=1, description="questions per key and minute")] = 240
    max_body_bytes: Annotated[int, Meta(ge=1 << 10, description="maximum size of a request, in bytes"), FOR_EXPERTS] = (
        4 << 20
    )
    log_level: Annotated[Level, Meta(description="`debug`, `info`, `warning` or `error`")] = "info"
    log_format: Annotated[
        Format, Meta(description="`json`, `people` (plain text), or `auto`: plain text on a terminal, else JSON")
    ] = "auto"
