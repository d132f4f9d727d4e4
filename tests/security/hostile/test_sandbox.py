"""Laws of the sandbox: what is read in it is what was always read, and nothing gets out of it or stays in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import hostile
import pytest

from hocket_bus.errors import Cancelled, Unavailable
from hocket_retrieval.errors import DocumentError
from hocket_retrieval.parsing import confinement
from hocket_retrieval.parsing import sandbox as sandboxes
from hocket_retrieval.parsing.formats.pictures import recognition
from hocket_retrieval.parsing.frames import ReadDocument
from hocket_retrieval.parsing.limits import READING, RECOGNITION
from hocket_retrieval.parsing.outline import borders
from hocket_retrieval.parsing.readers import read
from hocket_retrieval.parsing.sandbox import Sandbox
from hocket_retrieval.text.chunking import spans
from waiting import until

SOUND = {
    "a.txt": "Grüße aus der alten Mühle. Zwei.".encode(),
    "utf16.txt": "Grüße".encode("utf-16"),
    "old.txt": "Grüße".encode("cp1252"),
    "a.md": b"# Mills\n\n**Two** of [them](x).",
    "japanese.html": '<meta charset="shift_jis"><p>こんにちは</p>'.encode("shift_jis"),
    "russian.html": '<meta charset="koi8-r"><p>Привет</p>'.encode("koi8-r"),
    "a.docx": hostile.word(text="The old mill."),
    "a.pdf": hostile.page(hostile.said(b"The old mill.")),
}


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_file_is_read_as_outside(sandbox, name):
    """Title, text and passages are the same, though nothing can be imported in there any more."""
    title, text, passages, notice, outline = sandbox.read(Path(name), SOUND[name], 8)
    assert (title, text, notice, outline) == read(Path(name), SOUND[name])
    assert passages == list(spans(text, 8, borders(outline)))


def test_one_process_reads_file_after_file(sandbox):
    """Files that are only broken do not cost it its place."""
    sandbox.read(Path("a.txt"), b"One.", 8)
    process = sandbox._process
    for data in (b"", b"\x00"):
        with pytest.raises(DocumentError):
            sandbox.read(Path("a.txt"), data, 8)
    assert sandbox.read(Path("a.txt"), b"Two.", 8).text == "Two."
    assert process is not None
    assert sandbox._process is process


def test_a_sandbox_that_rests_has_no_process_until_there_is_a_file(sandbox):
    """The next file is read as any."""
    sandbox.read(Path("a.txt"), b"One.", 8)
    process = sandbox._process
    sandbox.rest()
    assert process.returncode is not None
    assert sandbox._process is None
    sandbox.rest()
    assert sandbox.read(Path("a.txt"), b"Two.", 8).text == "Two."


@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/passwd')",
        "open('/tmp/mark', 'w')",
        "socket.socket()",
        "os.pipe()",
        "(os.close(0), socket.socket())",
        "os.dup(1)",
        "bytearray(1 << 30)",
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)) if os.geteuid() else 1 / 0",
    ],
)
def test_nothing_gets_out(attempt):
    """No file, no socket, no pipe, even where one was closed; no memory beyond the limit, and no limit lifted."""
    code = (
        f"import os, resource, socket; from hocket_retrieval.parsing import sandboxed; sandboxed._lock_in(); {attempt}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert any(error in done.stderr for error in ("OSError", "MemoryError", "ValueError", "ZeroDivisionError"))


def test_what_takes_too_much_memory_is_refused_and_the_next_file_is_read(sandbox, monkeypatch):
    """A sentence of eight million words, on a machine as slow as it likes."""
    monkeypatch.setattr(sandbox, "limits", READING._replace(first_s=READING.max_s))
    with pytest.raises(DocumentError, match="needs more than 768 MiB"):
        sandbox.read(Path("a.txt"), hostile.SLOW["letters.txt"](), 64)
    assert sandbox.read(Path("a.txt"), b"Next.", 64).text == "Next."


@pytest.mark.parametrize(("first_s", "patience"), [(0.02, 2.25), (READING.first_s, 0.02)])
def test_what_takes_too_long_is_refused_and_the_next_file_is_read(sandbox, monkeypatch, first_s, patience):
    """By processor time, and by the clock where that says nothing."""
    sandbox.read(Path("a.txt"), b"Begun.", 64)
    monkeypatch.setattr(sandboxes, "PATIENCE", patience)
    monkeypatch.setattr(sandbox, "limits", READING._replace(first_s=first_s, s_per_mib=0.0))
    with pytest.raises(DocumentError, match="to be read: split it"):
        sandbox.read(Path("a.docx"), hostile.SLOW["cells.docx"](), 64)
    monkeypatch.undo()
    assert sandbox.read(Path("a.txt"), b"Next.", 64).text == "Next."


def test_a_process_that_falls_is_the_file_s_fault_and_the_next_is_read(sandbox):
    """Whatever ends it, it is one line."""
    sandbox.read(Path("a.txt"), b"Begun.", 64)
    slow = hostile.SLOW["cells.docx"]()
    falling = threading.Timer(0.2, os.kill, (sandbox._process.pid, signal.SIGSEGV))
    falling.start()
    with pytest.raises(DocumentError, match="crashes the program") as caught:
        sandbox.read(Path("a\nb.docx"), slow, 64)
    assert str(caught.value).isprintable()
    assert sandbox.read(Path("a.txt"), b"Next.", 64).text == "Next."


@pytest.mark.parametrize("borders", [[0], [0, 99], [3, 1], [0, 2, 1, 3], [-1, 2], [1, 1]])
def test_an_answer_that_no_sound_process_gives_is_refused(borders):
    """A parser that was taken over says where passages are; they lie in the text, in order."""
    with pytest.raises(DocumentError, match="crashes the program"):
        sandboxes._checked(Path("a.txt"), ReadDocument("", "four", borders, []))


@pytest.mark.parametrize(
    "outline",
    [[(4, "p. 1")], [(-1, "p. 1")], [(1, "a"), (1, "b")], [(2, "a"), (0, "b")], [(0, "a\nb")], [(0, "\x1b[m")]],
)
def test_places_that_no_sound_process_gives_are_refused(outline):
    """They lie in the text, in order, and each is one line that a terminal can show."""
    with pytest.raises(DocumentError, match="crashes the program"):
        sandboxes._checked(Path("a.txt"), ReadDocument("", "four", [0, 4], outline))


def test_an_end_interrupts_a_reading():
    """And is not the file's fault."""
    sandbox = Sandbox()
    sandbox.read(Path("a.txt"), b"Begun.", 64)
    slow = hostile.SLOW["cells.docx"]()
    closing = threading.Timer(0.2, sandbox.close)
    closing.start()
    with pytest.raises(Cancelled):
        sandbox.read(Path("a.docx"), slow, 64)
    with pytest.raises(Cancelled):
        sandbox.read(Path("a.txt"), b"Later.", 64)


def test_the_process_dies_with_its_parent():
    """Even when it is in the middle of a file and its parent is killed."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]; import hostile; from pathlib import Path;"
        "from hocket_retrieval.parsing.sandbox import Sandbox; sandbox = Sandbox();"
        "sandbox.read(Path('a.txt'), b'a', 8);"
        "print(sandbox._process.pid, flush=True); sandbox.read(Path('a.html'), hostile.SLOW['attributes.html'](), 8)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    line = Path(f"/proc/{pid}/cmdline")
    until(lambda: not line.exists() or not line.read_bytes())
    assert not line.exists() or not line.read_bytes()


def test_a_larger_file_may_take_longer():
    """Up to a bound."""
    assert READING.processor_s(0) == READING.first_s
    assert READING.processor_s(100 << 10) * sandboxes.PATIENCE < 20
    assert READING.processor_s(3 << 20) < READING.max_s <= 30
    for limits in (READING, RECOGNITION):
        assert limits.processor_s(1 << 20) < limits.processor_s(10 << 20) < limits.processor_s(1 << 40) == limits.max_s


def taken_over(*how: str) -> dict[str, dict[str, bool]]:
    """What a parser that was taken over could do before and after it gave all up."""
    program = Path(__file__).parents[1] / "taken_over.py"
    done = subprocess.run([sys.executable, program, *how], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("user", ["root", "65533"])
def test_a_parser_that_is_taken_over_reaches_no_other_process(user):
    """Nothing of the daemon's memory, no signal, no limits; and none of the calls that lead to more is there."""
    said = taken_over("open", user)
    assert {name for name, came_about in said["before"].items() if came_about} >= {"read", "write", "mem", "signal"}
    assert not any(said["after"].values())
    assert said["kept"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_s_parser_is_nobody_s():
    """And so is its group."""
    assert taken_over("open", "root")["user"] == [confinement.NOBODY] * 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_daemon_s_memory_is_closed_to_its_own_user():
    """Where there is no filter of system calls, too."""
    before = taken_over("closed", "65533")["before"]
    assert not any(before[name] for name in ("read", "write", "mem"))
    assert before["signal"]


def test_a_sandbox_that_is_not_whole_says_so_once(monkeypatch):
    """However many processes are begun."""
    said = []
    monkeypatch.setattr(sandboxes.log, "warning", lambda *_, **facts: said.append(facts["why"]))
    sandboxes._warn_once.cache_clear()
    for _ in range(3):
        sandboxes._warn_once("no filter of system calls: none is known for riscv64")
    assert said == ["no filter of system calls: none is known for riscv64"]
    sandboxes._warn_once.cache_clear()


def test_a_machine_without_a_known_filter_is_named(monkeypatch):
    """And nothing is filtered by the numbers of another one."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert list(confinement._filtered(None)) == ["no filter of system calls: none is known for riscv64"]


@pytest.mark.parametrize(("module", "limits"), [("pypdfium2", READING), ("cv2", RECOGNITION)])
def test_a_parser_that_does_not_load_is_named_with_what_it_lacks(module, limits, tmp_path, monkeypatch):
    """It is nothing that more memory would mend, or another file."""
    said = "libodd.so.3: cannot open shared object file: No such file or directory"
    (tmp_path / f"{module}.py").write_text(f"raise ImportError({said!r})")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    if limits is RECOGNITION and not recognition.is_installed():
        pytest.skip(recognition.MISSING)
    lacks = "needs libodd.so.3.*apt-get install libodd3 "
    with closing(Sandbox(limits)) as sandbox, pytest.raises(Unavailable, match=lacks):
        sandbox.read(Path("a.txt"), b"a", 100)
