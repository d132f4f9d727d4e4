"""The [server] of a configuration: what is no address, or would show a key, is one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket_bus.config import from_values
from hocket_bus.errors import BadConfiguration
from hocket_bus.web.server_address import CREDENTIAL, ServerAddress, is_here
from hocket_daemon.config import DeviceSettings
from hocket_daemon.engine.generators.server import server_of
from hocket_daemon.engine.settings import ServerSettings

HERE = "http://localhost:8000"


@pytest.fixture(autouse=True)
def _no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)


def found(url: str, **others: str) -> ServerAddress:
    server = server_of(ServerSettings(url=url, model="m", **others))  # type: ignore[arg-type]
    assert server is not None
    return server


def refused(**settings: str) -> BadConfiguration:
    with pytest.raises(BadConfiguration) as caught:
        server_of(ServerSettings(**({"url": HERE, "model": "m"} | settings)))  # type: ignore[arg-type]
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return caught.value


def test_no_url_is_no_server() -> None:
    """The default of a device; whatever else stands in the table."""
    values = {"endpoint": "ipc:///a", "retrieval": "ipc:///b"}
    assert server_of(from_values(values, DeviceSettings, "device.toml").server) is None
    assert server_of(ServerSettings(key_file="/nowhere")) is None


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        (HERE, "localhost", 8000, "/v1/completions"),
        ("http://127.8.9.1/", "127.8.9.1", 80, "/v1/completions"),
        ("http://[::1]:1", "::1", 1, "/v1/completions"),
        ("https://api.example.org", "api.example.org", 443, "/v1/completions"),
        ("https://192.0.2.7:8443/openai/v2/", "192.0.2.7", 8443, "/openai/v2/completions"),
        ("HTTPS://Example.ORG", "example.org", 443, "/v1/completions"),
    ],
)
def test_where_requests_go(url: str, host: str, port: int, path: str) -> None:
    """A path takes the place of /v1."""
    server = found(url)
    assert (server.host, server.port, server.path) == (host, port, path)
    assert server.is_encrypted == url.lower().startswith("https")
    assert found(url, api="chat").path == path.removesuffix("completions") + "chat/completions"


@pytest.mark.parametrize(
    "host",
    [
        "192.168.1.7",
        "0.0.0.0",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "example.org",
        "[2001:db8::1]",
        "[::]",
    ],
)
def test_http_goes_to_this_machine_alone(host: str) -> None:
    """Elsewhere the question and the key could be read on the way."""
    assert "use https" in refused(url=f"http://{host}:8000").remedy
    assert not is_here(host)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000", "ftp://localhost", "https://", "https:///v1", "http://localhost:0", "http://localhost:99999",
        "http://localhost:x", "https://[::1", "https://ex ample.org", "https://example.org/\r\nX: y", "https://bücher.de",
        "//example.org", "https://example.org/ä", "https://[::1%lo]",
    ],
)  # fmt: skip
def test_what_is_no_address(url: str) -> None:
    """Whatever could not be connected to, or would become a header."""
    assert "not a server address" in refused(url=url).text


@pytest.mark.parametrize("url", ["https://u:secret@example.org", "https://u@example.org", "https://:@example.org"])
def test_a_url_shows_no_password(url: str) -> None:
    """Not even in the error that refuses it."""
    error = refused(url=url)
    assert "key_file" in error.remedy
    assert "secret" not in str(error)


@pytest.mark.parametrize("url", [f"{HERE}?key=secret", f"{HERE}/v1#x", f"{HERE}/?", f"{HERE}/#"])
def test_a_url_has_no_query(url: str) -> None:
    """A key belongs into a file."""
    error = refused(url=url)
    assert "remove everything" in error.remedy
    assert "secret" not in str(error)


def test_a_model_must_be_named() -> None:
    """Servers ask for it."""
    assert "model" in refused(model="").remedy


def test_a_key_is_read_from_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    """On one line, and it is in nothing that is printed."""
    path = tmp_path / "key"
    path.write_text(" sk-secret \n")
    path.chmod(0o600)
    server = found(HERE, key_file=str(path))
    assert server.key == "sk-secret"
    assert "secret" not in f"{server}{server!r}{server.place}"
    path.chmod(0o400)
    assert found(HERE, key_file=str(path)).key == "sk-secret"
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        error = refused(key_file=str(path))
        assert error.remedy == f"chmod 600 {path}"
        assert "secret" not in str(error)


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"two\nlines", b"\xff\xfe", "schlüssel".encode()])
def test_a_file_without_a_key(tmp_path: Path, content: bytes) -> None:
    """Nor could it be a header."""
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    error = refused(key_file=str(path))
    assert "holds no key" in error.text
    assert error.__cause__ is None


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    """One that is not there, and a folder."""
    tmp_path.chmod(0o700)
    error = refused(key_file=str(tmp_path / name))
    assert "key_file" in error.remedy or "chmod" in error.remedy


def test_systemd_may_hand_the_key_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes the file readable for the service by its group; a file that is named comes first."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert found(HERE).key == ""
    (tmp_path / CREDENTIAL).write_text("of-systemd\n")
    (tmp_path / CREDENTIAL).chmod(0o440)
    assert found(HERE).key == "of-systemd"
    own = tmp_path / "own"
    own.write_text("own")
    own.chmod(0o600)
    assert found(HERE, key_file=str(own)).key == "own"


def test_a_daemon_stops_for_a_wrong_server_before_it_loads_a_model() -> None:
    """With the exit status of a wrong configuration."""
    values = {"endpoint": "ipc:///a", "retrieval": "ipc:///b", "server": {"url": "http://example.org", "model": "m"}}
    settings = from_values(values, DeviceSettings, "device.toml")
    from hocket_daemon.roles.device import DeviceDaemon

    with pytest.raises(BadConfiguration, match="use https"):
        DeviceDaemon(settings)
    with pytest.raises(BadConfiguration, match=r"device.toml: .*'completions'|Invalid enum value"):
        from_values(values | {"server": {"api": "text"}}, DeviceSettings, "device.toml")
