"""A gateway without keys answers its own user and root, whoever else is on this machine; with keys a key decides."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import gateway
from shelf import NOTE, Shelf, shelf, there

from hocket_gateway.access import peer_uid, people
from hocket_gateway.access.peer_uid import is_owner, uid_of_peer
from hocket_gateway.settings import ServeSettings
from waiting import WAIT_S

__all__ = ["shelf", "there"]  # fixtures
STRANGER = 65_533
PATHS = (
    *("/", "/health", "/page/app.js", "/openapi.json", "/status", "/documents", "/watched", "/skipped", "/nothing"),
    *("/v1/models", "/api/tags", "/v1/responses/x", "/documents/x", "/mcp"),
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as another user")


def as_stranger(port: int, method: str, path: str, address: str = "127.0.0.1", key: str = "") -> str:
    """What a process of another user gets. It is a fork: that user may read no interpreter of root's."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
    request = head + (f"Authorization: Bearer {key}\r\n" if key else "") + "\r\n"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            with socket.create_connection((address, port), WAIT_S) as there:
                there.sendall(request.encode())
                while part := there.recv(65_536):
                    os.write(writing, part)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        got = answer.read().decode()
    os.waitpid(child, 0)
    return got


def port_of(shelf: Shelf) -> int:
    return int(shelf.url.rsplit(":", 1)[1])


@needs_root
def test_another_user_gets_one_line_on_every_path(shelf: Shelf) -> None:
    for path in PATHS:
        refused = as_stranger(port_of(shelf), "GET", path)
        assert refused.split()[1] == "403", path
        assert "hocket serve keys new" in refused
    for method, path in (("PUT", "/documents/a.md"), ("POST", "/v1/chat/completions"), ("OPTIONS", "/documents/a")):
        assert as_stranger(port_of(shelf), method, path).split()[1] == "403"
    assert shelf.ask("GET", "/health").status_code == 200


@needs_root
def test_another_user_reads_no_file_of_the_owners(shelf: Shelf, tmp_path: Path) -> None:
    """Neither by letting the gateway read a folder, nor from a document that is there."""
    secret = tmp_path / "own.md"
    secret.write_bytes(NOTE)
    secret.chmod(0o600)
    assert as_stranger(port_of(shelf), "PUT", f"/watched{tmp_path}").split()[1] == "403"
    assert shelf.ask("GET", "/watched").json()["folders"] == []
    name = shelf.put("a.md").json()["name"]
    got = as_stranger(port_of(shelf), "GET", f"/documents/{name}")
    assert (got.split()[1], "300 litres" in got) == ("403", False)


@needs_root
def test_an_address_of_the_other_family_hides_nobody(shelf: Shelf) -> None:
    """A socket of IPv6 that is connected to 127.0.0.1 has its row in the other table."""
    assert as_stranger(port_of(shelf), "GET", "/documents", "::ffff:127.0.0.1").split()[1] == "403"
    with socket.socket(socket.AF_INET6) as own:
        own.connect(("::ffff:127.0.0.1", port_of(shelf)))
        own.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert own.recv(65_536).split()[1] == b"200"


@needs_root
def test_at_the_loopback_of_ipv6_it_is_the_same(tmp_path: Path) -> None:
    settings = ServeSettings(host="::1", port=0, device=f"ipc://{tmp_path}/none", people=str(tmp_path / "people"))
    with gateway(settings) as port:
        assert as_stranger(port, "GET", "/health", "::1").split()[1] == "403"
        with socket.create_connection(("::1", port), WAIT_S) as own:
            own.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert own.recv(65_536).split()[1] == b"200"


@needs_root
def test_with_a_key_any_user_asks(shelf: Shelf) -> None:
    key = people.invite(shelf.folder / "people.json", "anna")
    assert as_stranger(port_of(shelf), "GET", "/documents", key=key).split()[1] == "200"
    assert as_stranger(port_of(shelf), "GET", "/documents").split()[1] == "401"
    assert as_stranger(port_of(shelf), "GET", "/health").split()[1] == "200"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection: who connected, and who was asked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        peer = socket.create_connection(listening.getsockname(), WAIT_S)
        asked, _ = listening.accept()
        with peer, asked:
            yield peer, asked


def uid_seen(asked: socket.socket, peer_name: tuple[str, int]) -> int | None:
    return uid_of_peer(peer_name, asked.getsockname())


def test_a_connected_end_has_its_user(ends: tuple[socket.socket, socket.socket]) -> None:
    """Also where it has said that it will send no more."""
    peer, asked = ends
    assert uid_seen(asked, peer.getsockname()) == os.geteuid()
    peer.shutdown(socket.SHUT_WR)
    assert uid_seen(asked, peer.getsockname()) == os.geteuid()


@pytest.mark.parametrize(("listens_at", "asks"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
@pytest.mark.parametrize("is_closed", [False, True])
def test_the_kernel_and_its_tables_say_the_same(listens_at: str, asks: str, *, is_closed: bool) -> None:
    """Of an end of either version, and of one of IPv4 that is asked by a socket of IPv6."""
    family = socket.AF_INET6 if ":" in listens_at else socket.AF_INET
    with socket.create_server((listens_at, 0), family=family, dualstack_ipv6=listens_at == "::") as listening:
        peer = socket.create_connection((asks, listening.getsockname()[1]), WAIT_S)
        asked, name = listening.accept()
        with peer, asked:
            if is_closed:
                peer.close()
            ends = peer_uid.ends(name, asked.getsockname())
            found = peer_uid.asked(ends)
            assert (found is None) == is_closed
            assert found == peer_uid.listed(ends, peer_uid.TABLES)


@pytest.mark.parametrize("is_reset", [False, True])
def test_an_end_that_was_closed_is_nobodys(ends: tuple[socket.socket, socket.socket], *, is_reset: bool) -> None:
    """The kernel lists it as root's, or not at all: nobody gets rights by leaving at once."""
    peer, asked = ends
    name = peer.getsockname()
    if is_reset:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    assert uid_seen(asked, name) is None


@pytest.mark.parametrize(
    ("row", "uid"),
    [
        ("0100007F:1F90 0100007F:2124 01 0:0 0:0 0 1000 0 77 1", 1_000),
        ("0100007F:2124 0100007F:1F90 01 0:0 0:0 0 1000 0 77 1", None),  # the gateway's own end
        ("0100007F:1F90 0100007F:2124 06 0:0 0:0 0 0 0 0 3", None),  # TIME_WAIT
        ("0100007F:1F90 0100007F:2124 05 0:0 0:0 0 0 0 0 1", None),  # closed by its process
        ("0100007F:1F90 0100007F:2124 02 0:0 0:0 0 1000 0 77 1", None),  # connects only now
        ("0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 77 1", None),  # listens
        ("0100007F:11F90 0100007F:2124 01 0:0 0:0 0 1000 0 77 1", None),  # another port
    ],
)
def test_the_right_row_counts_and_no_other(tmp_path: Path, row: str, uid: int | None) -> None:
    table = tmp_path / "tcp"
    table.write_text(f"  sl  local_address rem_address\n   0: {row}\n")
    assert uid_of_peer(("127.0.0.1", 8_080), ("127.0.0.1", 8_484), (table,)) == uid


def test_two_rows_of_different_users_are_nobodys(tmp_path: Path) -> None:
    rows = [f"   {uid}: 0100007F:1F90 0100007F:2124 01 0:0 0:0 0 {uid} 0 77 1\n" for uid in (0, 1_000)]
    table = tmp_path / "tcp"
    table.write_text("head\n" + "".join(rows))
    assert uid_of_peer(("127.0.0.1", 8_080), ("127.0.0.1", 8_484), (table,)) is None
    assert uid_of_peer(("127.0.0.1", 8_080), ("127.0.0.1", 8_484), (tmp_path / "none",)) is None


def test_the_owner_is_this_user_or_root() -> None:
    assert is_owner(os.geteuid())
    assert is_owner(0)
    assert not is_owner(None)
    assert not is_owner(os.geteuid() + 1)
