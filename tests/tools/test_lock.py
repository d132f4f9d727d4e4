"""Laws of the pins: a package that wants a newer Python is found, and the newest that an old one takes is pinned."""

from __future__ import annotations

import html
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hocket_tools import lock

ROOT = Path(__file__).parents[2]


def wheel(folder: Path, version: str, python: str) -> None:
    """A package with nothing in it that wants a Python."""
    info = f"soup-{version}.dist-info"
    with zipfile.ZipFile(folder / f"soup-{version}-py3-none-any.whl", "w") as archive:
        head = f"Metadata-Version: 2.1\nName: soup\nVersion: {version}\nRequires-Python: {python}\n"
        archive.writestr(f"{info}/METADATA", head)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path) -> tuple[str, ...]:
    """pip's options for an index with an old package and one that Debian 12's Python is too old for."""
    folder = tmp_path / "simple" / "soup"
    folder.mkdir(parents=True)
    links = []
    for version, python in (("2.9", ">=3.8"), ("3.0", ">=3.8"), ("4.1", ">=3.11.5")):
        wheel(folder, version, python)
        back = " data-yanked=broken" if version == "2.9" else ""
        file = f"soup-{version}-py3-none-any.whl"
        links.append(f'<a href="{file}" data-requires-python="{html.escape(python)}"{back}>{file}</a>')
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    return ("--index-url", (tmp_path / "simple").as_uri())


@pytest.mark.slow
def test_a_pin_that_an_old_python_cannot_install_is_named(tmp_path: Path, index: tuple[str, ...]) -> None:
    """By the micro version, too: 3.11.2 is not 3.11.5; and one that its author took back."""
    pins = tmp_path / "requirements.lock"
    pins.write_text("soup==4.1\n")
    assert "soup" in lock.problem_on("3.11.2", pins, *index)
    assert lock.problem_on("3.12", pins, *index) == ""
    pins.write_text("soup==3.0\n")
    assert lock.problem_on("3.11.0", pins, *index) == ""
    pins.write_text("soup==2.9\n")
    assert "yanked" in lock.problem_on("3.11.0", pins, *index)


def test_the_newest_for_the_oldest_python_is_taken(index: tuple[str, ...]) -> None:
    """Not the newest that this Python would take."""
    assert lock.resolve(["soup>=2"], "3.11.0", *index) == {"soup": "3.0"}
    assert lock.resolve(["soup>=2"], "3.12", *index) == {"soup": "4.1"}


def test_the_oldest_python_is_the_promised_one() -> None:
    """And the lock pins everything that pyproject.toml asks for."""
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert lock.OLDEST.startswith(promised.removeprefix(">="))
    assert lock.PYTHONS[0] == lock.OLDEST
    pinned = {line.partition("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()[1:]}
    asked = {canonicalize_name(Requirement(each).name) for each in lock.direct("hocket[dev]")}
    assert len(asked) > 30
    assert asked <= pinned
