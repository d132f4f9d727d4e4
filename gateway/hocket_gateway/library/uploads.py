"""Files uploaded over HTTP: each person has a folder of its own, and nothing is written outside it."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from ..access.people import NOBODY, Person, lies_in
from ..http.refusals import Refusal

SILENCE_S = 30.0  # between two pieces of a file
MAX_NAME_BYTES = 255
MAX_DEPTH = 8
AT_ONCE = 4  # files of one person
EVERYBODY = "everybody"  # the folder of those who need no key; no key has this account
PART = ".part-"  # begins the name of a file that is being sent


class UploadedFile:
    """An uploaded file, and the one it replaced, until it is known whether the new one can be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = path.with_name(f"{PART}{secrets.token_hex(8)}")

    def take(self, part: Path) -> None:
        """Move the uploaded file to its place. Raises OSError."""
        if self.path.exists():
            os.link(self.path, self._before)
        os.replace(part, self.path)

    def undo(self) -> None:
        """Restore the former file, or remove the new one, as it cannot be read."""
        if self._before.exists():
            os.replace(self._before, self.path)
        else:
            self.path.unlink(missing_ok=True)

    def settle(self) -> None:
        """Keep the new file, and remove the former one."""
        self._before.unlink(missing_ok=True)


class Uploads:
    """The uploaded files, below a folder; without one no upload is accepted."""

    def __init__(self, folder: Path | None, max_bytes: int) -> None:
        """Set up uploads below `folder`; `max_bytes` is the largest size of a file."""
        self._folder = folder
        self._max_bytes = max_bytes
        self._in_work: Counter[str] = Counter()

    def of(self, person: Person) -> Path | None:
        """Return the person's own folder; None if no upload is accepted."""
        return self._folder and self._folder / (person.account or EVERYBODY)

    def may_add(self, person: Person) -> bool:
        """Tell whether the person may upload files."""
        return self._folder is not None and (person == NOBODY or person.may_upload)

    def may_remove(self, person: Person, name: str) -> bool:
        """Tell whether a person may remove a document: without a key any, others only what they have uploaded."""
        own = self.of(person)
        is_own = self.may_add(person) and own is not None and _is_below(name, own)
        return person == NOBODY or is_own

    def enter(self, person: Person) -> None:
        """Count a file in work. Raises Refusal if too many of the person's are being sent or read."""
        if self._in_work[person.account] >= AT_ONCE:
            raise Refusal(
                429, f"{AT_ONCE} files of this key are in progress", "wait for one", "busy", retry_after_s=1.0
            )
        self._in_work[person.account] += 1

    def leave(self, person: Person) -> None:
        """Note that a file is done with."""
        self._in_work[person.account] -= 1

    async def keep(self, person: Person, name: str, request: Request) -> UploadedFile:
        """Write the body, all or nothing, in place of a file that had this name. Raises Refusal."""
        own = self.of(person)
        if own is None:
            raise Refusal(403, "this gateway accepts no files", "set uploads in serve.toml", "not_allowed")
        if not self.may_add(person):
            remedy = "make one that may: hocket serve keys new NAME --may-upload"
            raise Refusal(403, "this key may not send files", remedy, "not_allowed")
        file = own.joinpath(*_parts(name))
        uploaded = UploadedFile(file)
        self._check_announced(request)
        try:
            await asyncio.to_thread(_make_folder, file.parent)
            part = file.parent / f"{PART}{secrets.token_hex(8)}"
            try:
                await self._write(part, request)
                await asyncio.to_thread(uploaded.take, part)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            text = f"the file cannot be stored: {error.strerror or error}"
            raise Refusal(507, text, "make room on the device, or use another name", "not_kept") from error
        return uploaded

    def delete(self, name: str) -> None:
        """Delete the file of a document, if it was uploaded here."""
        if self._folder is not None and _is_below(name, self._folder) and Path(name).is_file():
            Path(name).unlink(missing_ok=True)

    def _check_announced(self, request: Request) -> None:
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            raise self._too_long()

    async def _write(self, part: Path, request: Request) -> None:
        size, fragments = 0, aiter(request.stream())
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            while (piece := await _next(fragments)) is not None:
                size += len(piece)
                if size > self._max_bytes:
                    raise self._too_long()
                await asyncio.to_thread(out.write, piece)

    def _too_long(self) -> Refusal:
        text = f"the file has more than {self._max_bytes} bytes"
        return Refusal(413, text, "send a smaller one, or set max_upload_bytes in serve.toml", "too_long")


async def _next(fragments: AsyncIterator[bytes]) -> bytes | None:
    """Return the next piece, or None at the end. Raises Refusal if no more comes."""
    try:
        async with asyncio.timeout(SILENCE_S):
            return await anext(fragments, None)
    except TimeoutError as error:
        text = f"no more of the file came within {SILENCE_S:.0f} s"
        raise Refusal(408, text, "send it again", "timeout") from error
    except ClientDisconnect as error:
        raise Refusal(400, "the connection was closed", "send the file again", "closed") from error


def _is_below(name: str, folder: Path) -> bool:
    """Tell whether a name, free of parts that lead elsewhere, is that of something in a folder."""
    return os.path.normpath(name) == name and lies_in(name, str(folder)) and name != str(folder)


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _parts(name: str) -> list[str]:
    """Return the parts of a path below a folder. Raises Refusal for one that may lead elsewhere."""
    parts = name.split("/")
    for part in parts:
        is_odd = part in ("", ".", "..") or part.startswith(PART) or not part.isprintable() or "\\" in part
        if is_odd or len(part.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
            raise Refusal(400, f"'{name[:200]}' is not a valid file name", "use a plain name", "bad_name", param="name")
    if len(parts) > MAX_DEPTH:
        raise Refusal(400, f"more than {MAX_DEPTH} nested folders", "send fewer", "bad_name", param="name")
    return parts
