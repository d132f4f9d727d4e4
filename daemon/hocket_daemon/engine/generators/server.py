"""The server of text that [server] names. Connects to nothing."""

from __future__ import annotations

from hocket_bus.errors import BadConfiguration
from hocket_bus.web.server_address import ServerAddress, server_at

from ..settings import ServerSettings

_PATHS = {"completions": "completions", "chat": "chat/completions"}


def server_of(settings: ServerSettings) -> ServerAddress | None:
    """The server, or None where the settings name none. Raises BadConfiguration."""
    if not settings.url:
        return None
    if not settings.model:
        raise BadConfiguration("[server] url is set, but no model", "name the server's model in [server] model")
    return server_at("[server] url", settings.url, _PATHS[settings.api], settings.key_file)
