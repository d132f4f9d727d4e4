"""A gateway before a retrieval daemon with the product's embedder, and no other daemon."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from serving import gateway

from hocket_gateway.settings import ServeSettings
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.service.daemon import Daemon
from waiting import WAIT_S, until

NOTE = b"# Allotment\n\nThe water tank of the allotment holds 300 litres."
MAX_BYTES = 100_000


@dataclass(frozen=True)
class Shelf:
    """A gateway before a retrieval daemon; there is no other daemon."""

    url: str
    folder: Path

    @property
    def uploads(self) -> Path:
        return self.folder / "uploads"

    def ask(self, method: str, path: str, key: str = "", **more: object) -> httpx2.Response:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx2.request(
            method, self.url + path, headers=headers | more.pop("headers", {}), timeout=WAIT_S, **more
        )  # type: ignore[arg-type, operator]

    def names(self, key: str = "") -> list[str]:
        return [each["name"] for each in self.ask("GET", "/documents", key).json()["documents"]]

    def put(self, name: str, content: bytes = NOTE, key: str = "") -> httpx2.Response:
        return self.ask("PUT", f"/documents/{quote(name)}", key, content=content)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder = tmp_path_factory.mktemp("shelf")
    with ExitStack() as stack:
        endpoint = f"ipc://{folder}/r"
        daemon = Daemon(RetrievalConfig(endpoint=endpoint, state=str(folder / "state")))
        stack.callback(daemon.close)
        daemon.start()
        serving = threading.Thread(target=daemon.serve, daemon=True)
        serving.start()
        stack.callback(lambda: (daemon.stop(), serving.join(WAIT_S)))
        settings = ServeSettings(
            port=0,
            device=f"ipc://{folder}/none",
            retrieval=endpoint,
            people=str(folder / "people.json"),
            uploads=str(folder / "uploads"),
            watched=str(folder / "watched.json"),
            max_upload_bytes=MAX_BYTES,
        )
        port = stack.enter_context(gateway(settings))
        shelf = Shelf(f"http://127.0.0.1:{port}", folder)
        until(lambda: shelf.ask("GET", "/documents").status_code == 200)
        yield shelf


@pytest.fixture
def shelf(there: Shelf) -> Iterator[Shelf]:
    """Empty the shelf before and behind each test, without keys and watched folders."""
    yield there
    (there.folder / "people.json").unlink(missing_ok=True)
    for each in there.ask("GET", "/watched").json()["folders"]:
        assert there.ask("DELETE", f"/watched{quote(each['folder'])}").status_code == 200
    for name in there.names():
        assert there.ask("DELETE", f"/documents/{quote(name, safe='')}").status_code == 200
