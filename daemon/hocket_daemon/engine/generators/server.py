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
    return _at(settings, _PATHS[settings.api])


def completions_of(settings: ServerSettings) -> ServerAddress:
    """Return the server's address for prompts of token ids, whatever API writes its texts. Raises BadConfiguration."""
    return _at(settings, _PATHS["completions"])


def _at(settings: ServerSettings, path: str) -> ServerAddress:
    return server_at("[server] url", settings.url, path, settings.key_file)
