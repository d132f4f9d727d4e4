"""The files that a path names, and their bytes: nothing outside a named folder, nothing that might never end."""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import DocumentError
from ..parsing.formats.pictures.picture import FORMATS
from ..parsing.formats.pictures.recognition import MISSING, REMEDY
from ..parsing.readers import check_supported, is_picture, is_supported, shown
from .secrets_apart import SecretError, check_content, has_secret_name, why_apart
from .skipped import MAX_ENTRIES
from .waiting import Queued

MAX_FILE_BYTES = 128 << 20
MAX_NAME_BYTES = 2_000
IGNORE_FILE = ".hocketignore"  # a name or a pattern in each line, for its folder and all below
MAX_IGNORE_BYTES = 64 << 10
PROGRAMS = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages", "venv", "virtualenv"))
_NO_WAITING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Walk:
    """The files at some paths: `files` to read, `skipped` ones counted by unknown type, and `errors`, (file, one line).

    `passed_over` are names of what is not read, with the reason. Folders are read without the `removed` files.
    """

    def __init__(self, paths: Sequence[Path], removed: frozenset[str] = frozenset()) -> None:
        self._removed = removed
        self._removed_here: list[Path] = []
        self._found: dict[str, Queued] = {}
        self.skipped: Counter[str] = Counter()
        self._left_out: list[Path] = []
        self._linked: list[Path] = []
        self._empty: list[Path] = []
        self._apart: list[Path] = []
        self.errors: list[tuple[str, str]] = []
        self.passed_over: deque[tuple[str, str]] = deque(maxlen=MAX_ENTRIES)
        for path in paths:
            if os.path.isdir(path) and not why_apart(path):  # Path's own raises for a name that is too long
                self._enter(path)
            else:
                self._take(path)

    @property
    def files(self) -> list[Queued]:
        """Return each file once, in their order."""
        return list(self._found.values())

    @property
    def notices(self) -> list[str]:
        """Lines about what was passed over."""
        said = []
        if self.skipped:
            types = ", ".join(sorted(filter(None, self.skipped)))
            said.append(f"{sum(self.skipped.values())} file(s) of other types skipped ({types or 'without one'})")
        if pictures := sum(count for kind, count in self.skipped.items() if kind in FORMATS):
            said.append(f"{pictures} of them picture(s), and {MISSING}: {REMEDY}")
        if self._apart:
            said.append(f"{len(self._apart)} secret(s) and files of hocket's own skipped ({_names(self._apart)})")
        if self._left_out:
            said.append(f"{len(self._left_out)} folder(s) skipped ({_names(self._left_out)}): name one to read it")
        if self._linked:
            said.append(f"{len(self._linked)} link(s) to folders not followed ({_names(self._linked)})")
        if self._removed_here:
            text = f"{len(self._removed_here)} file(s) that you have removed skipped ({_names(self._removed_here)})"
            said.append(f"{text}: name one to read it")
        if self._empty:
            said.append(f"{len(self._empty)} empty file(s) skipped ({_names(self._empty)})")
        return said

    def _enter(self, folder: Path) -> None:
        root = os.path.realpath(folder)
        for file in _files(folder, self._refused, self._leave_out):
            if reason := why_apart(file):
                self._keep_apart(file, reason)
            elif str(file) in self._removed:
                self._removed_here.append(file)
                self._pass_over(file, "you have removed it: name the file itself to read it again")
            elif is_supported(file):
                self._take(file, root)
            else:
                kind = shown(Path(file.suffix.lower())) if file.suffix else ""
                self.skipped[kind] += 1
                self._pass_over(file, _why(file))

    def _leave_out(self, folder: Path) -> None:
        if os.path.islink(folder):
            self._linked.append(folder)
            self._pass_over(folder, "a link to a folder, which is not followed: name the folder it leads to")
        elif reason := why_apart(folder):
            self._keep_apart(folder, reason)
        else:
            self._left_out.append(folder)
            self._pass_over(folder, "a program folder, or excluded by a .hocketignore: name it to read it")

    def _keep_apart(self, path: Path, reason: str) -> None:
        self._apart.append(path)
        self._pass_over(path, reason)

    def _refused(self, error: OSError) -> None:
        folder = Path(error.filename)
        self._refuse(folder, _unreadable(folder, error))

    def _refuse(self, path: Path, error: DocumentError) -> None:
        self.errors.append((shown(path), str(error)))
        self._pass_over(path, reason_of(path, error))

    def _pass_over(self, path: Path, reason: str) -> None:
        self.passed_over.append((shown(path), reason))

    def _take(self, file: Path, root: str = "") -> None:
        try:
            name = _name(file)
            if not root and (reason := why_apart(file)):
                raise SecretError(f"{shown(file)}: {reason}", "secrets are never ingested")
            if root and file.is_symlink():
                _check_place(file, os.path.realpath(file), root)
            size = _check_kind(file, file.stat())
            if root and not size:
                self._empty.append(file)
                self._pass_over(file, "is empty")
            else:
                self._found[name] = Queued(name, root, size)
        except DocumentError as error:
            self._refuse(file, error)
        except OSError as error:
            self._refuse(file, _unreadable(file, error))


def read_bytes(path: Path, root: str = "") -> bytes:
    """The bytes of the file, which lies in the folder `root` if one is named, even if it has become a link meanwhile.

    Raises DocumentError when it is missing, unreadable, elsewhere, too large or nothing that is read.
    """
    check_supported(path)
    try:
        _check_kind(path, path.stat())  # before it is opened: some devices feel that
        with open(path, "rb", opener=lambda name, _: os.open(name, _NO_WAITING)) as file:
            if root:
                _check_place(path, os.readlink(f"/proc/self/fd/{file.fileno()}"), root)
            size = _check_kind(path, os.fstat(file.fileno()))
            data = file.read(size)
    except OSError as error:
        raise _unreadable(path, error) from error
    check_content(shown(path), data)
    return data


def reason_of(path: Path, error: DocumentError) -> str:
    """Return what an error says of a file, without the file's name."""
    return str(error).removeprefix(f"{shown(path)}: ")


def is_gone(path: Path) -> bool:
    """Tell whether there is certainly no such file; one that may not be looked at is not gone."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(sorted({shown(Path(path.name)) for path in paths}))


def is_empty(path: Path) -> bool:
    """Tell whether there is certainly a file without a byte."""
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size


def _why(file: Path) -> str:
    """Return why a file of a folder is not read."""
    if is_picture(file):
        return f"a picture, and {MISSING}: {REMEDY}"
    kind = shown(Path(file.suffix.lower())) if file.suffix else ""
    return f"files of type '{kind}' are not read" if kind else "its name has no file type"


def _name(path: Path) -> str:
    """The name a file's document will have. Raises DocumentError for one that cannot be stored or sent."""
    name = str(path)
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise DocumentError(f"{name!a}: the file's name is not valid UTF-8", "rename it") from error
    if size > MAX_NAME_BYTES:
        raise DocumentError(
            f"{shown(path)[:80]}…: the path is over {MAX_NAME_BYTES} bytes", "move the file to a shorter path"
        )
    if not os.path.exists(path):
        raise DocumentError(f"{shown(path)}: no such file or folder", "check the path on the machine of this daemon")
    return name


def _check_place(path: Path, real: str, root: str) -> None:
    if not real.startswith(root.rstrip("/") + "/"):
        raise DocumentError(f"{shown(path)}: a link out of the folder", "name the file it leads to")


def _check_kind(path: Path, found: os.stat_result) -> int:
    """Return the size of a file. Raises DocumentError for what is no regular file, or too large."""
    if not stat.S_ISREG(found.st_mode):  # a pipe or a device might never end
        raise DocumentError(f"{shown(path)}: not a regular file", "copy its content into one")
    if found.st_size > MAX_FILE_BYTES:
        text = f"{shown(path)}: {found.st_size >> 20} MiB is over the limit of {MAX_FILE_BYTES >> 20}"
        raise DocumentError(text, "split it")
    return found.st_size


def _unreadable(path: Path, error: OSError) -> DocumentError:
    return DocumentError(f"{shown(path)}: {error.strerror or error}", "check the path and its permissions")


def _files(folder: Path, refused: Callable[[OSError], None], left_out: Callable[[Path], None]) -> Iterator[Path]:
    """Files below a folder; hidden ones that are no secrets are left out. Folders that may not be listed are `refused`.

    Folders of programs, linked ones, and what a `.hocketignore` names are `left_out`.
    """
    rules: dict[str, list[str]] = {}  # of the folders above, and of each itself
    for place, folders, names in os.walk(folder, onerror=refused):
        own = rules.get(os.path.dirname(place), []) + _rules(Path(place, IGNORE_FILE))
        rules[place] = own
        seen = sorted(name for name in folders if not name.startswith("."))
        kept = [name for name in seen if not _is_left_out(Path(place, name), own)]
        for name in sorted({*seen} - {*kept}):
            left_out(Path(place, name))
        folders[:] = kept
        yield from (
            Path(place, name)
            for name in sorted(names)
            if (not name.startswith(".") or has_secret_name(name)) and not _matches(name, own, "")
        )


def _is_left_out(folder: Path, rules: Sequence[str]) -> bool:
    # os.path's, since Path's raise where a folder may be listed and not entered.
    is_program = folder.name in PROGRAMS or os.path.isfile(folder / "pyvenv.cfg")
    return is_program or os.path.islink(folder) or _matches(folder.name, rules, "/") or bool(why_apart(folder))


def _matches(name: str, rules: Sequence[str], kind: str) -> bool:
    """Tell whether a line of a `.hocketignore` fits a name; lines that end in "/" are for folders alone."""
    return any(fnmatchcase(name, rule.removesuffix("/")) for rule in rules if kind or not rule.endswith("/"))


def _rules(file: Path) -> list[str]:
    if not os.path.isfile(file):  # a pipe might never end
        return []
    try:
        with open(file, "rb", opener=lambda name, _: os.open(name, _NO_WAITING)) as rules:
            lines = rules.read(MAX_IGNORE_BYTES).decode("utf-8-sig", "replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def has_entries(path: Path) -> bool:
    """Tell whether a path is a folder that may be listed and is not empty."""
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (OSError, ValueError):  # a name that no file can have
        return False
