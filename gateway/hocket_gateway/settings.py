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
            description="the address of this machine at which it listens; another than loopback needs keys",
        ),
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, lt=1 << 16, description="the port; 0: any that is free")] = 8474
    names: Annotated[
        tuple[str, ...],
        Meta(description="other names by which clients reach it, such as `laptop.lan`; any other is refused"),
    ] = ()
    origins: Annotated[
        tuple[str, ...],
        Meta(description="web pages that may ask from a browser, such as `https://chat.example`; no other page may"),
    ] = ()
    device: Annotated[
        Endpoint, Meta(description="where the device daemon listens; empty: where this user's pair has it")
    ] = ""
    retrieval: Annotated[
        Endpoint,
        Meta(description="where the device's retrieval daemon listens, for the text of cited passages; empty: none"),
    ] = ""
    keys: Annotated[
        FilePath,
        Meta(description="the folder of this machine's keys, which tcp needs; empty: where `hocket keys` keeps them"),
    ] = ""
    people: Annotated[
        FilePath,
        Meta(description="the file of people's keys (`hocket serve keys`); where it is there, every request needs one"),
    ] = ""
    responses: Annotated[
        FilePath,
        Meta(description="the file of responses that clients may refer to (`/v1/responses`); empty: none are stored"),
    ] = ""
    uploads: Annotated[
        FilePath, Meta(description="the folder of documents that are sent over HTTP; empty: none are taken")
    ] = ""
    watched: Annotated[
        FilePath, Meta(description="the file that names folders which are read whenever they change; empty: none are")
    ] = ""
    max_upload_bytes: Annotated[int, Meta(ge=1, description="bytes of the longest document that is sent")] = 256 << 20
    max_tokens: Annotated[
        int, Meta(ge=1, le=MAX_TOKENS, description="tokens of the longest answer, where a request does not say")
    ] = 256
    deadline_s: Annotated[float, Meta(gt=0, le=86_400, description="seconds that an answer may take")] = 600.0
    at_once: Annotated[int, Meta(ge=1, description="questions of one key at once, where the key does not say")] = 8
    a_minute: Annotated[int, Meta(ge=1, description="questions of one key a minute")] = 240
    max_body_bytes: Annotated[int, Meta(ge=1 << 10, description="bytes of the longest request"), FOR_EXPERTS] = 4 << 20
    log_level: Annotated[Level, Meta(description="`debug`, `info`, `warning` or `error`")] = "info"
    log_format: Annotated[Format, Meta(description="`json`, `people`, or `auto`: for people at a terminal")] = "auto"
