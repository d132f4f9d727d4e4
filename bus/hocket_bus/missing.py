"""Reasons why a part does not import: it is not installed, or a system library is missing; and the remedy.

This module knows the messages of Python and of the loaders of glibc and musl, and Debian's names for library packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ALL = "cd HOCKETS_SOURCE && pip install ./models '.[all]'"  # installs every part
_ABSENT = re.compile(
    r"(?:^|[\s('\"])(?P<glibc>[\w.+-]+\.so[\d.]*): cannot open shared object file"
    r"|Error loading shared library (?P<musl>[\w.+-]+\.so[\d.]*):"
)
_TOO_OLD = re.compile(r"version [`'\"](?P<version>[\w.]+)' not found")
_SONAME = re.compile(r"(?P<name>.+?)\.so(?:\.(?P<version>[\d.]+))?$")
_PACKAGES = {  # those whose names do not follow from the library's
    "libz.so.1": "zlib1g",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgobject-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
}
_OF_NVIDIA = ("libcuda.", "libnvidia-")  # these come with the driver
_CHARS = 200  # of a reason that nothing more is known of


class Lack(NamedTuple):
    """A missing part or library: one line that says what is missing, and another one that says what to do."""

    text: str
    remedy: str


def lack(part: str, module: str, install: str, error: BaseException) -> Lack:
    """Return why `part` did not import, given the `error` raised by importing `module` or loading its library.

    `install` is the command that installs `part`.
    """
    reason = "\n".join(str(each) for each in _chain(error))
    if found := _ABSENT.search(reason):
        library = found["glibc"] or found["musl"]
        return Lack(f"{part} is installed, but needs {library}, which this system does not have", _remedy(library))
    if found := _TOO_OLD.search(reason):
        text = f"{part} is installed, but needs {found['version']}, and this system's libraries are older"
        return Lack(text, "use a newer release of the system")
    name = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    if name and name.partition(".")[0] == module:
        return Lack(f"{part} is not installed", f"run: {install}")
    if name:
        return Lack(f"{part} needs {name}, which is not installed", f"run: {install}")
    line = " ".join(str(error).split())[:_CHARS]
    return Lack(f"{part} is installed, but does not load ({line})", f"run: {install} --force-reinstall")


def debian_package(library: str) -> str:
    """Return the package that has a library, such as libgomp1 for libgomp.so.1; empty if its name does not tell."""
    named = _SONAME.match(library)
    if named is None or not named["version"] or library.startswith(_OF_NVIDIA):
        return ""
    name = named["name"].lower().replace("_", "-")
    between = "-" if name[-1].isdigit() else ""
    return _PACKAGES.get(library, f"{name}{between}{named['version']}")


def _remedy(library: str) -> str:
    if library.startswith(_OF_NVIDIA):
        return "install NVIDIA's driver"
    if package := debian_package(library):
        return f"run as root: apt-get install {package} (Debian, Ubuntu; elsewhere the package that has {library})"
    return f"install the package that has {library}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those that it was raised from: a package often wraps the loader's message in its own."""
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and not any(at is each for each in seen):
        seen.append(at)
        yield at
        at = at.__cause__ or at.__context__
