"""Digests of files of weights, which take a second for each GB, stored in a folder for the next start."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from hocket_bus.trust.private import write_whole

_NAME = "weights-digest.json"


class _Stored(Struct, frozen=True):
    """The `version` of a file, which is another one once it has been written to or replaced, and its digest in hex."""

    version: list[int]
    digest: str


def digest_of(file: Path, folder: Path) -> bytes:
    """Return a digest of a file's bytes, read anew unless the `folder` holds that of the same version. Raises OSError.

    The folder is made where it is missing. Where nothing can be written there, the file is read at each start.
    """
    status = file.stat()
    version = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    place = folder / _NAME
    with suppress(OSError, ValueError):
        stored = msgspec.json.decode(place.read_bytes(), type=_Stored)
        if stored.version == version:
            return bytes.fromhex(stored.digest)
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=32)).digest()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(place, msgspec.json.encode(_Stored(version, digest.hex())).decode())
    return digest
