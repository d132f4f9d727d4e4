"""Keys for people: whose they are and what they may ask, in one file that has only their digests.

A key has 256 random bits, so that its digest reveals nothing of it and needs no salt.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hocket_bus import as_json
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.trust.private import changing, check_mode, write_whole

from ..http.refusals import Refusal
from ..settings import LOOPBACK, ServeSettings

PREFIX = "hk-"
RESERVED = ("anybody", "anyone", "everybody", "everyone", "nobody", "no-one")  # mean no one person
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Person(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A person who asks, and that person's rights. The name is empty if no keys are required."""

    name: str = ""
    id: str = ""  # whose what is kept is: a key that is made anew under a name that was revoked is another person's
    digest: str = ""  # SHA-256 of the key, in hexadecimal
    alone_only: bool = False  # the cloud is told nothing
    folders: tuple[str, ...] = ()  # of the device, from which alone passages are; empty: from all
    may_upload: bool = False  # files into a folder of its own, which it reads, too
    at_once: Annotated[int, Meta(ge=0)] = 0  # questions; 0: as many as the settings say

    @property
    def account(self) -> str:
        """Return the id under which data and counts are stored; empty without keys. Older keys have only their name."""
        return self.id or (f"name-{self.name}" if self.name.casefold() in RESERVED else self.name)

    def may_read(self, document: str) -> bool:
        """Tell whether a document is in one of the person's folders, or was itself named in place of a folder.

        A link in a folder of the person's leads to no document elsewhere.
        """
        if not self.folders:
            return True
        real = os.path.realpath(document) if os.path.isabs(document) else os.path.normpath(document)
        return self._names(document) and (real == document or self._names(real, real=True))

    def _names(self, document: str, *, real: bool = False) -> bool:
        return any(lies_in(document, os.path.realpath(each) if real else each) for each in self.folders)


NOBODY = Person()


def lies_in(document: str, folder: str) -> bool:
    """Tell whether a document is in a folder, or was itself named in its place."""
    is_plain = os.path.normpath(document) == document
    return is_plain and (document == folder or document.startswith(folder.rstrip("/") + "/"))


class People:
    """The people of a file, which is read again as soon as it has changed: a revocation applies at once."""

    def __init__(self, file: Path | None, *, always: bool = False) -> None:
        """Let in everybody who reaches the gateway, or with `always` nobody, while there is no file."""
        self._file = file
        self._always = always
        self._stamp: tuple[int, ...] | None = None
        self._by_digest: dict[str, Person] = {}

    @property
    def are_asked_for_keys(self) -> bool:
        """Tell whether keys are required: there is a file, even an empty one, or `always` was given."""
        return self._always or (self._file is not None and self._file.exists())

    def of(self, key: str) -> Person:
        """Return the person of a key; NOBODY if none is required. Raises Refusal."""
        if not self.are_asked_for_keys:
            return NOBODY
        remedy = "send 'Authorization: Bearer KEY'; make one with: hocket serve keys new NAME"
        if not key:
            raise Refusal(401, "this gateway requires a key", remedy, "invalid_api_key")
        person = self._read().get(_digest(key))
        if person is None:
            raise Refusal(401, "this key is not known, or was revoked", remedy, "invalid_api_key")
        return person

    def check(self, person: Person) -> None:
        """Raise Refusal if the person's key was revoked, or its rights have changed."""
        now = self._read().get(person.digest) if self.are_asked_for_keys else NOBODY
        if now != person:
            raise Refusal(401, "this key was revoked, or changed", "ask again, with a key", "invalid_api_key")

    def _read(self) -> dict[str, Person]:
        if self._file is None:
            return {}
        try:
            found = self._file.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp != self._stamp:
                self._by_digest = {person.digest: person for person in listed(self._file)}
                self._stamp = stamp
        except (OSError, BadConfiguration) as error:
            self._stamp, self._by_digest = None, {}
            raise Refusal(503, f"the file of keys cannot be read: {error}", "mend it", "bad_configuration") from error
        return self._by_digest


def people_of(settings: ServeSettings) -> People:
    """Return the settings' people. A gateway that other machines can reach requires keys, even without their file."""
    return People(Path(settings.people) if settings.people else None, always=settings.host not in LOOPBACK)


def listed(file: Path) -> list[Person]:
    """Return the people of a file, by name; none if it does not exist. Raises BadConfiguration."""
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadConfiguration(f"{file}: {error.strerror}", "make it readable for hocket serve") from error
    check_mode(file, 0o640)
    try:
        return msgspec.json.decode(raw, type=list[Person])
    except msgspec.DecodeError as error:
        raise BadConfiguration(f"{file}: {error}", "fix the file, or remove it and make new keys") from error


def invite(
    file: Path,
    name: str,
    *,
    alone_only: bool = False,
    folders: tuple[str, ...] = (),
    may_upload: bool = False,
    at_once: int = 0,
    uploads: Path | None = None,
) -> str:
    """Add a person; return the key, which nobody can read again. Raises BadRequest, BadConfiguration.

    With `folders` and `may_upload` the person reads its uploads below `uploads`, too.
    """
    if not NAME.fullmatch(name) or not name.strip("."):
        raise BadRequest(
            f"'{name[:64]}' is not a valid name for a key", "use up to 64 letters, digits, '.', '_' and '-'"
        )
    if name.casefold() in RESERVED:
        raise BadRequest(f"'{name}' is a reserved name", "use another name")
    key = PREFIX + secrets.token_urlsafe(32)
    account = f"key-{secrets.token_hex(8)}"
    own = (str(uploads / account),) if folders and may_upload and uploads is not None else ()
    person = Person(
        name=name,
        id=account,
        digest=_digest(key),
        alone_only=alone_only,
        folders=(*folders, *own),
        may_upload=may_upload,
        at_once=at_once,
    )
    with changing(file):
        people = listed(file)
        if any(each.name == name for each in people):
            raise BadRequest(f"{name} already has a key", f"revoke it first: hocket serve keys revoke {name}")
        _save(file, [*people, person])
    return key


def revoke(file: Path, name: str) -> None:
    """Take a person's key away. The file stays, so keys are still required. Raises BadRequest, BadConfiguration."""
    with changing(file):
        people = listed(file)
        if all(person.name != name for person in people):
            raise BadRequest(f"there is no key for {name[:64]}", "see: hocket serve keys list")
        _save(file, [person for person in people if person.name != name])


def _save(file: Path, people: list[Person]) -> None:
    people.sort(key=lambda person: person.name)
    write_whole(file, as_json.indented(people))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
