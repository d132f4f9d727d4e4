"""Stored document KV: what a document prefix left in a row, kept on disk so that it is computed once (docs/kv.md).

One file for each prefix, in a folder that one side's daemons may share: written beside and renamed, never changed, so
that a reader finds all of an entry or nothing. The oldest use goes first when the budget is reached. A file's name
begins with the digest of the document's text, so that a text's entries go with the text whatever model made them.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import structlog

from ..settings import KVSettings
from ..text.tokenizer import Prefix
from .entry import FORMAT, KV, Damaged, decode, encode

_SUFFIX, _PARTIAL = ".kv", ".partial"
_ABANDONED_S = 60.0  # a partial file this old was left by a process that died
_MAX_WAITING_BYTES = 2**28  # of entries on their way to disk; more are dropped and computed again another time
log = structlog.get_logger(__name__)


class _File(NamedTuple):
    name: str
    bytes: int
    used_ns: int


class StoredKV:
    """The entries of one model in `folder`. `find` may be called from one thread, everything else from any."""

    def __init__(self, folder: Path, budget_bytes: int, model: bytes) -> None:
        """Open the store; `model` digests everything that the numbers depend on besides the token ids."""
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._model = model
        self._lock = threading.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="kv")
        self._waiting_bytes = 0
        self._texts: frozenset[str] | None = None
        self._checked: dict[str, tuple[int, ...]] = {}  # files that were right, and what they were then
        self._clock_ns = 0
        self.entries = self.bytes = self.hits = self.misses = 0
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            self._files()
        except OSError as error:
            _complain("the folder of stored KV cannot be used", error)

    def find(self, prefix: Prefix) -> KV | None:
        """Return the stored KV of `prefix`, mapped from disk; None where there is none, or none that is sound."""
        name, key = self._name(prefix)
        try:
            kv = self._read(name, key)
        except FileNotFoundError:
            kv = None
        except OSError as error:  # of the moment: the entry may be sound
            _complain("an entry of stored KV cannot be read now", error)
            kv = None
        except (ValueError, Damaged) as error:
            _complain("an entry of stored KV is left aside", error)
            with suppress(OSError):
                (self._folder / name).unlink()
            kv = None
        self.hits, self.misses = self.hits + (kv is not None), self.misses + (kv is None)
        return kv

    def has(self, prefix: Prefix) -> bool:
        """Tell whether there is an entry, sound or not."""
        return (self._folder / self._name(prefix)[0]).exists()

    def put(self, prefix: Prefix, kv: KV, *, evict: bool = True) -> bool:
        """Store `kv`; return False without room, for a text no longer retained, or after an error, which is logged."""
        name, key = self._name(prefix)
        parts = encode(key, kv)
        try:
            with self._lock:
                return self._put(name, parts, evict)
        except OSError as error:
            _complain("stored KV cannot be written", error)
            return False

    def put_later(self, prefix: Prefix, kv: KV) -> None:
        """Store `kv` on the store's own thread, unless too many bytes wait there already."""
        size = kv.bytes
        if not self._waiting_bytes or self._waiting_bytes + size <= _MAX_WAITING_BYTES:
            self._waiting_bytes += size
            self._writer.submit(self._put_waiting, prefix, kv, size)

    def retain(self, texts: Iterable[bytes]) -> None:
        """Accept entries of `texts` alone from now on, and soon drop all others; `texts` are `text_digest`s."""
        self._texts = frozenset(digest.hex() for digest in texts)
        self._writer.submit(self._sweep)

    def close(self) -> None:
        """Finish writing what waits to be written."""
        self._writer.shutdown()

    def fact(self) -> str:
        """A line for `hocket status`."""
        size, budget = self.bytes / 1e6, self._budget_bytes / 1e6
        used = f"{self.entries} documents, {size:.1f} of {budget:.0f} MB"
        return f"{used}, {self.hits} hit(s), {self.misses} miss(es)"

    # --- reading

    def _read(self, name: str, key: bytes) -> KV:
        with (self._folder / name).open("rb") as file:
            status = os.fstat(file.fileno())
            now = _version(status)
            data = np.memmap(file, dtype=np.uint8, mode="c")
        kv = decode(key, data, check=self._checked.get(name) != now)
        self._checked[name] = now
        with suppress(OSError):  # a folder that is only read: the order of use is lost
            self._touch(self._folder / name, status.st_mtime_ns)
        return kv

    def _touch(self, path: Path, mtime_ns: int) -> None:
        self._clock_ns = max(self._clock_ns + 1, time.time_ns())
        os.utime(path, ns=(self._clock_ns, mtime_ns))

    def _name(self, prefix: Prefix) -> tuple[str, bytes]:
        ids = np.array(prefix.ids, dtype=">u4").tobytes()
        key = hashlib.blake2b(self._model + bytes([FORMAT]) + ids, digest_size=16).digest()
        return f"{text_digest(prefix.text).hex()}-{key.hex()}{_SUFFIX}", key

    # --- writing

    def _put(self, name: str, parts: list[bytes | memoryview], evict: bool) -> bool:
        path, size = self._folder / name, sum(len(part) for part in parts)
        if path.exists():
            return True
        if not self._wanted(name):
            return False
        files = sorted(self._files(), key=lambda file: file.used_ns)
        if size > self._budget_bytes or (not evict and self.bytes + size > self._budget_bytes):
            return False
        for file in files:
            if self.bytes + size <= self._budget_bytes:
                break
            self._drop(file)
        self._write(path, parts)
        self._checked[name] = _version(path.stat())
        self.entries, self.bytes = self.entries + 1, self.bytes + size
        return True

    def _wanted(self, name: str) -> bool:
        return self._texts is None or name.partition("-")[0] in self._texts

    def _write(self, path: Path, parts: list[bytes | memoryview]) -> None:
        """Write a file whole or not at all; a wrong checksum after a power cut is cheaper than waiting for the disk."""
        partial = path.with_name(f"{os.getpid()}-{os.urandom(8).hex()}{_PARTIAL}")
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.writelines(parts)
            self._touch(partial, time.time_ns())
            partial.replace(path)
        except OSError:
            with suppress(OSError):
                partial.unlink()
            raise

    def _put_waiting(self, prefix: Prefix, kv: KV, size: int) -> None:
        try:
            self.put(prefix, kv)
        finally:
            self._waiting_bytes -= size

    def _sweep(self) -> None:
        try:
            with self._lock:
                for file in self._files():
                    if not self._wanted(file.name):
                        self._drop(file)
        except OSError as error:
            _complain("stored KV of removed documents cannot be removed", error)

    def _drop(self, file: _File) -> None:
        (self._folder / file.name).unlink(missing_ok=True)
        self._checked.pop(file.name, None)
        self.entries, self.bytes = self.entries - 1, self.bytes - file.bytes

    def _files(self) -> list[_File]:
        """List every entry in the folder, other processes' too, and remove what a dead process left half written."""
        found = []
        for item in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another process drops entries too
                status = item.stat()
                if item.name.endswith(_SUFFIX):
                    found.append(_File(item.name, status.st_size, status.st_atime_ns))
                elif item.name.endswith(_PARTIAL) and time.time() - status.st_mtime > _ABANDONED_S:
                    os.unlink(item.path)
        self.entries, self.bytes = len(found), sum(file.bytes for file in found)
        return found


def open_store(settings: KVSettings, model: bytes) -> StoredKV | None:
    """The store that a configuration describes for a model of this digest; None where nothing is to be kept."""
    if not settings.folder:
        return None
    return StoredKV(Path(settings.folder).expanduser(), settings.budget_bytes, model)


def _version(status: os.stat_result) -> tuple[int, ...]:
    """Return numbers that differ once a file has been replaced or written to."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def text_digest(text: str) -> bytes:
    """Return the digest by which a text's entries are known."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _complain(what: str, error: Exception) -> None:
    log.warning(f"{what}: documents are computed instead", reason=str(error))
