"""Laws of the lines about parts that do not import: what is missing is named, and so is what brings it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from hocket_bus.missing import debian_package, lack
from waiting import WAIT_S

INSTALL = "pip install part"


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libgomp.so.1", "libgomp1"),
        ("libstdc++.so.6", "libstdc++6"),
        ("libgcc_s.so.1", "libgcc-s1"),
        ("libGL.so.1", "libgl1"),
        ("libbz2.so.1.0", "libbz2-1.0"),
        ("libsqlite3.so.0", "libsqlite3-0"),
        ("libglib-2.0.so.0", "libglib2.0-0"),
        ("libgthread-2.0.so.0", "libglib2.0-0"),
        ("libz.so.1", "zlib1g"),
        ("libgfortran.so.5", "libgfortran5"),
        ("libiomp5.so", ""),
        ("libcuda.so.1", ""),
    ],
)
def test_debian_names_the_packages_of_libraries_so(library: str, package: str) -> None:
    assert debian_package(library) == package


@pytest.mark.parametrize(
    "said",
    [
        "libodd3.so.4: cannot open shared object file: No such file or directory",
        "part does not load: libodd3.so.4: cannot open shared object file: No such file or directory",
        "Error loading shared library libodd3.so.4: No such file or directory (needed by /usr/lib/part.so)",
    ],
)
@pytest.mark.parametrize("kind", [ImportError, OSError, RuntimeError])
def test_a_library_that_the_loader_misses_is_named_with_its_package(kind: type[Exception], said: str) -> None:
    """Whoever wraps the loader's words, and in what error; nobody is sent to install what is there."""
    error = ModuleNotFoundError("part could not be imported", name="part")
    error.__cause__ = kind(said)
    for each in (error, error.__cause__):
        text, remedy = lack("the part", "part", INSTALL, each)
        assert text == "the part is installed, but needs libodd3.so.4, which this system does not have"
        assert "apt-get install libodd3-4 " in remedy
        assert "pip" not in remedy


def test_the_drivers_libraries_are_nobody_elses() -> None:
    error = ImportError("libcuda.so.1: cannot open shared object file: No such file or directory")
    assert lack("vLLM", "vllm", INSTALL, error).remedy == "install NVIDIA's driver"


def test_what_needs_a_newer_system_says_so() -> None:
    error = ImportError("/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /a/part.so)")
    text, remedy = lack("the part", "part", INSTALL, error)
    assert ("GLIBC_2.99" in text, remedy) == (True, "use a newer release of the system")


@pytest.mark.parametrize(
    ("error", "text", "remedy"),
    [
        (ModuleNotFoundError("x", name="part.inner"), "the part is not installed", f"run: {INSTALL}"),
        (ModuleNotFoundError("x", name="other"), "the part needs other, which is not installed", f"run: {INSTALL}"),
        (
            ImportError("undefined symbol:\n f"),
            "the part is installed, but does not load (undefined symbol: f)",
            f"run: {INSTALL} --force-reinstall",
        ),
        (
            OSError("/a/part.so: cannot open shared object file: No such file or directory"),
            "the part is installed, but does not load "
            "(/a/part.so: cannot open shared object file: No such file or directory)",
            f"run: {INSTALL} --force-reinstall",
        ),
    ],
)
def test_what_is_not_the_systems_is_installed(error: Exception, text: str, remedy: str) -> None:
    """A file of the part's own, which the loader names with its folder, is no library of the system."""
    assert lack("the part", "part", INSTALL, error) == (text, remedy)


def test_an_error_that_is_its_own_cause_is_read_once() -> None:
    error, other = ImportError("a"), ImportError("b")
    error.__cause__, other.__cause__ = other, error
    assert "does not load (a)" in lack("the part", "part", INSTALL, error).text


def test_the_loader_of_this_machine_is_understood(tmp_path: Path) -> None:
    """It is asked for a library that itself needs one that is not there."""
    library = tmp_path / "libpart.so"
    compiler = ["cc", "-shared", "-o"]
    try:
        (tmp_path / "a.c").write_text("int f(void) { return 1; }")
        (tmp_path / "b.c").write_text("int f(void); int g(void) { return f(); }")
        inner = tmp_path / "libinner.so.7"
        first = [*compiler, str(inner), "-Wl,-soname,libinner.so.7", str(tmp_path / "a.c")]
        subprocess.run(first, check=True, timeout=WAIT_S)
        subprocess.run([*compiler, str(library), str(tmp_path / "b.c"), str(inner)], check=True, timeout=WAIT_S)
    except FileNotFoundError:
        pytest.skip("there is no C compiler")
    inner.unlink()
    with pytest.raises(OSError, match="libinner") as raised:
        ctypes.CDLL(str(library))
    assert sys.platform != "linux" or "apt-get install libinner7 " in lack("a", "a", INSTALL, raised.value).remedy
