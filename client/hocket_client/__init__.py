"""The client library: ask a question, iterate over the stream of tokens.

    from hocket_client import Client

    with Client() as client:
        for token in client.ask("When does the clinic open, and where did I park?"):
            print(token.text, end="", flush=True)

Needs pyzmq, msgpack, msgspec and structlog only.
"""

from hocket_bus.errors import (
    BadConfiguration,
    BadMessage,
    BadRequest,
    Busy,
    Cancelled,
    DeadlineExceeded,
    HocketError,
    ProtocolError,
    Unavailable,
)
from hocket_bus.messages import Done, Logprob, Notice, Remembered, Suggestion, Thought, Token, Turn, Waiting

from .aio import AsyncClient, AsyncStream
from .client import Client, Stream
from .composer import AsyncComposer, Composer
from .conversation import Chat
from .question import Options

__all__ = [
    "AsyncClient",
    "AsyncComposer",
    "AsyncStream",
    "BadConfiguration",
    "BadMessage",
    "BadRequest",
    "Busy",
    "Cancelled",
    "Chat",
    "Client",
    "Composer",
    "DeadlineExceeded",
    "Done",
    "HocketError",
    "Logprob",
    "Notice",
    "Options",
    "ProtocolError",
    "Remembered",
    "Stream",
    "Suggestion",
    "Thought",
    "Token",
    "Turn",
    "Unavailable",
    "Waiting",
]
