"""Laws of a pair on this machine: up, ask, ingest, documents, status and down over real processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from exact import table
from hocket_bus.errors import BadConfiguration, Unavailable
from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.main import run
from hocket_tools.pair import processes
from hocket_tools.pair.home import NAMES, Home
from hocket_tools.pair.state import daemon_state
from hocket_tools.pair.temporary import temporary_home
from hocket_tools.pair.up import StartFailed, bring_up
from homes import configured, running
from processes import guarded, proportional_bytes
from waiting import WAIT_S, until

pytestmark = [pytest.mark.programs, pytest.mark.timeout(START_S + 2 * WAIT_S)]


@pytest.fixture(scope="module")
def home(tiny_models: dict[str, Path]) -> Iterator[Home]:
    with running(tiny_models) as home:
        yield home


def call(home: Home, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """`hocket` in a process of its own, with this home."""
    return subprocess.run(
        [sys.executable, "-m", "hocket_tools.main", *arguments],
        input=text,
        env=os.environ | {"HOCKET_HOME": str(home.at)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_a_second_up_says_it_is_running_already(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """No process is started twice."""
    before = [processes.running(home, name) for name in NAMES]
    assert run(["up", "--home", str(home.at)]) == 0
    assert "running already" in capsys.readouterr().out
    assert [processes.running(home, name) for name in NAMES] == before


def test_status_shows_every_daemon(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """All four answer and are ready; the device tells its connection to the cloud."""
    assert run(["status", "--home", str(home.at), "--json"]) == 0
    daemons = json.loads(capsys.readouterr().out)["daemons"]
    assert {daemon["name"] for daemon in daemons} == set(NAMES)
    assert all(daemon["answering"] and daemon["ready"] and daemon["pid"] for daemon in daemons)
    device = next(daemon for daemon in daemons if daemon["name"] == "device")
    assert "round trip" in device["facts"]["cloud"]
    assert run(["status", "--home", str(home.at)]) == 0
    few = capsys.readouterr().out
    assert run(["status", "--all", "--home", str(home.at)]) == 0
    assert few.count("\n") <= 12 < capsys.readouterr().out.count("\n")


def test_a_device_that_is_cut_off_says_so(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """In its status, and to whoever starts it; joined again it is as before."""
    where = ["--home", str(home.at)]
    for what, line in (("on", "hocket alone off"), ("off", "all is well: ")):
        assert run(["alone", what, *where]) == 0
        until(lambda: daemon_state(home, "device").settled)
        capsys.readouterr()
        assert run(["status", *where]) == 0
        assert line in capsys.readouterr().out
        assert run(["up", *where]) == 0
        assert ("cut on this device" in capsys.readouterr().out) == (what == "on")


def test_documents_go_in_are_listed_and_removed(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ingesting twice changes nothing; a file that cannot be read is named; an unknown name is an error."""
    (tmp_path / "note.md").write_text("# Note\n\nThe key lies under the blue stone.\n")
    where = ["--side", "device", "--home", str(home.at)]
    assert run(["ingest", *where, "--json", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == 1
    assert run(["ingest", *where, str(tmp_path)]) == 0
    assert "1 unchanged" in capsys.readouterr().out
    assert run(["documents", *where, "--json"]) == 0
    names = [document["name"] for document in json.loads(capsys.readouterr().out)["documents"]]
    (name,) = (name for name in names if name.endswith("note.md"))
    assert run(["documents", *where]) == 0
    assert "note.md" in capsys.readouterr().out
    (tmp_path / "strange.xyz").write_text("?")
    assert run(["ingest", *where, str(tmp_path / "strange.xyz")]) == 1
    assert "strange.xyz" in capsys.readouterr().err
    assert run(["documents", *where, "--remove", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"side": "device", "removed": 1, "missing": []}
    assert run(["documents", *where, "--remove", name]) == 2
    assert "no document" in capsys.readouterr().err


def test_what_is_deleted_is_forgotten_and_paths_are_taken_as_typed(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is read again loses what is gone, and says so; relative paths, files' and folders', are removed."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThe key {name} lies under the blue stone.\n")
    monkeypatch.chdir(tmp_path)
    where = ["--side", "cloud", "--home", str(home.at)]
    assert run(["ingest", *where, "."]) == 0
    assert "removed" not in capsys.readouterr().out
    (tmp_path / "a.md").unlink()
    assert run(["ingest", *where, "."]) == 0
    assert "2 unchanged, 1 removed whose files are gone or empty" in capsys.readouterr().out
    for path in ("b.md", "."):
        assert run(["documents", *where, "--remove", path]) == 0
        assert "cloud: 1 removed" in capsys.readouterr().out


def test_an_answer_goes_to_output_and_its_figures_beside(home: Home) -> None:
    """Standard output has the answer, standard error its figures, a terminal the legend; "-" reads the question."""
    done = call(home, "ask", "--max-tokens", "6", "--seed", "1", "--json", "Where is the key?")
    answer = json.loads(done.stdout.splitlines()[-1])["text"]
    shown = call(home, "ask", "--max-tokens", "6", "--seed", "1", "-", text="Where is the key?\n")
    assert shown.returncode == 0
    assert shown.stdout == "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in answer) + "\n"
    assert "ms per token" in shown.stderr
    assert "proposed by both" not in shown.stderr


def test_json_is_one_object_per_event(home: Home) -> None:
    """Tokens carry step, id, text, source and time; the last object is done with every figure."""
    done = call(home, "ask", "--json", "--max-tokens", "5", "--seed", "3", "--temperature", "1", "Where?")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    tokens = [event for event in events if event["event"] == "token"]
    assert all(set(token) == {"event", "step", "id", "text", "source", "t_s"} for token in tokens)
    last = events[-1]
    assert last["event"] == "done"
    assert last["token_ids"] == [token["id"] for token in tokens]
    wanted = {"finish", "text", "ttft_s", "ms_per_token", "accept_device", "accept_cloud", "mode", "seed"}
    assert wanted <= set(last)
    assert last["seed"] == 3


def test_an_error_is_an_object_too(home: Home) -> None:
    """With --json an empty question gives an error object on output and a line beside."""
    failed = call(home, "ask", "--json", "-", text="  \n")
    assert failed.returncode == 2
    assert json.loads(failed.stdout)["code"] == "bad_request"
    assert failed.stderr.count("\n") == 1


def test_ctrl_c_cancels_the_request(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 130, there is no traceback, and the daemon has no request in work afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hocket_tools.main", "ask", "--json", "--max-tokens", "450", "Where?"],
        env=os.environ | {"HOCKET_HOME": str(home.at), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with guarded(process):
        assert process.stdout is not None
        assert process.stderr is not None
        while json.loads(process.stdout.readline())["event"] != "token":
            pass
        process.send_signal(signal.SIGINT)
        threading.Thread(target=process.stdout.read, daemon=True).start()
        assert process.stderr.read() == ""
    assert process.returncode == 130

    def idle() -> bool:
        assert run(["status", "--home", str(home.at), "--json"]) == 0
        daemons = {daemon["name"]: daemon for daemon in json.loads(capsys.readouterr().out)["daemons"]}
        return bool(daemons["device"]["facts"]["requests in work"] == "0")

    until(idle, 0.1)


@pytest.fixture
def empty() -> Iterator[Home]:
    """A home in which nothing runs; its path is short, since it holds sockets."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        yield Home(Path(folder))


@pytest.mark.slow
def test_a_daemon_that_dies_at_its_start_is_named_with_its_last_words(empty: Home, tmp_path: Path) -> None:
    """A wrong model name stops the start, nothing keeps running, and the log is shown."""
    empty.prepare_side("device", "laptop", "")
    text = empty.config("device").read_text(encoding="utf-8")
    empty.config("device").write_text(text.replace("[model]\n", table(tmp_path / "absent")), encoding="utf-8")
    with pytest.raises((StartFailed, BadConfiguration), match=r"absent|ended at its start"):
        bring_up(empty, 120.0, lambda _: None)
    assert not any(processes.pids(empty).values())


def test_a_typo_in_the_configuration_stops_up_with_the_key(empty: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 78 and the line names the key."""
    empty.prepare()
    empty.config("cloud-retrieval").write_text('endpoint = "ipc:///tmp/x"\nstates = "/tmp/x"\n')
    assert run(["up", "--home", str(empty.at)]) == 78
    assert "did you mean 'state'" in capsys.readouterr().err


def test_a_retrieval_daemon_takes_little_memory(home: Home, tmp_path: Path) -> None:
    """It has searched, and embedded many texts: what those take is another process's.

    Which pages of a library are resident differs by kernel and file system; two daemons share them and the weights.
    """
    (tmp_path / "long.md").write_text("\n\n".join(f"The ferry leaves at nine from pier {n}. " * 9 for n in range(200)))
    assert run(["ingest", "--side", "cloud", "--home", str(home.at), str(tmp_path)]) == 0
    assert run(["ask", "--home", str(home.at), "--max-tokens", "2", "When does the ferry leave?"]) == 0
    for name in ("device-retrieval", "cloud-retrieval"):
        pid = processes.running(home, name)
        assert pid is not None
        assert proportional_bytes(pid) < 150 << 20


@pytest.mark.slow
def test_two_tokenizers_come_up_and_answer_by_words(
    tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` says how such a pair decides an answer, and both sides decide it."""
    with running(tiny_models | {"cloud": tiny_models["stranger"]}) as home:
        assert run(["status", "--home", str(home.at)]) == 0
        assert "word by word" in capsys.readouterr().out
        assert run(["ask", "--home", str(home.at), "--json", "--max-tokens", "4", "What stands at dawn?"]) == 0
        last = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert last["method"] == "coupled"


@pytest.mark.slow
def test_a_tokenizer_that_writes_no_words_stops_up_at_once(
    tiny_models: dict[str, Path], empty: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal that no waiting mends: one line that says what to change, status 78, and nothing keeps running."""
    configured(empty, tiny_models | {"cloud": _not_byte_level(tiny_models["stranger"], tmp_path / "model")})
    assert run(["up", "--home", str(empty.at)]) == 78
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "different tokenizers" in told
    assert "[model] name" in told
    assert [processes.running(empty, name) for name in NAMES] == [None] * len(NAMES)


def _not_byte_level(model: Path, folder: Path) -> Path:
    """Copy a model, and let its tokenizer decode as SentencePiece does."""
    shutil.copytree(model, folder)
    file = folder / "tokenizer.json"
    description = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(description | {"decoder": {"type": "Fuse"}}), encoding="utf-8")
    return folder


def test_ask_and_status_name_what_a_daemon_ended_with(empty: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own reason, from its log; not after a start that went on behind it."""
    empty.prepare()
    empty.log("device").write_text("hocket: no model at 'x': name another\n")
    where = ["--home", str(empty.at)]
    for command in (["ask", *where, "Where?"], ["status", *where]):
        assert run(command) == 69
        told = capsys.readouterr()
        assert "no model at 'x'" in told.out + told.err
    with empty.log("device").open("a") as log:
        log.write("2026-01-01 ready\n")
    assert run(["status", *where]) == 69
    assert "no model" not in capsys.readouterr().out


@pytest.mark.slow
def test_status_finds_daemons_that_up_did_not_start(empty: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """By the configuration; the side that another machine has is no failure here, and it says where it looked."""
    empty.prepare()
    config = empty.config("device")
    config.write_text(config.read_text().replace("ipc://run/cloud", "tcp://192.0.2.7:7100"))
    command = [sys.executable, "-m", "hocket_tools.main", "retrieval", "--config"]
    where = ["--home", str(empty.at)]
    with guarded(subprocess.Popen([*command, str(empty.config("device-retrieval"))], text=True)) as process:
        until(lambda: daemon_state(empty, "device-retrieval").ready)

        daemons: dict[str, Any] = {}

        def is_answering() -> bool:
            assert run(["status", *where, "--json"]) == 69
            daemons.update({one["name"]: one for one in json.loads(capsys.readouterr().out)["daemons"]})
            return bool(daemons["device-retrieval"]["answering"])

        until(is_answering)  # on a busy machine not each time within the patience of a status
        assert daemons.keys() == {"device", "device-retrieval"}
        assert daemons["device"]["problem"] == "not running"
        assert run(["status", *where]) == 69
        assert str(empty.at) in capsys.readouterr().err.replace("\n", "")
        process.terminate()
        process.wait(WAIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_up_began_is_stopped_when_it_is(number: signal.Signals, tiny_models: dict[str, Path]) -> None:
    """While it waits for a device that finds no cloud, and so never settles."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        home = configured(Home(Path(folder) / "pair"), tiny_models)
        config = home.config("device")
        config.write_text(config.read_text().replace("ipc://run/cloud", f"ipc://{folder}/nobody"))
        command = [sys.executable, "-m", "hocket_tools.main", "up", "--home", str(home.at)]
        try:
            with guarded(subprocess.Popen(command, text=True)) as process:
                until(lambda: all(processes.running(home, name) is not None for name in NAMES))
                process.send_signal(number)
            assert process.returncode == 128 + number
            assert [processes.running(home, name) for name in NAMES] == [None] * len(NAMES)
        finally:
            processes.stop(home, list(NAMES))


def test_configuration_is_written_once_and_kept(tmp_path: Path) -> None:
    """A second preparation leaves a changed file alone; each file is valid and says where its daemon listens."""
    home = Home(tmp_path / "h")
    home.prepare()
    assert {home.listening(name) for name in NAMES} == {home.endpoint(name) for name in NAMES}
    home.config("device").write_text('endpoint = "tcp://127.0.0.1:7"\n')
    home.prepare()
    assert home.listening("device") == "tcp://127.0.0.1:7"
    home.config("device").write_text("endpoint =\n")
    with pytest.raises(BadConfiguration, match="device.toml"):
        home.listening("device")


def test_a_home_with_too_long_a_path_is_refused(tmp_path: Path) -> None:
    """Socket paths have a limit; the message says so before anything is written."""
    home = Home(tmp_path / ("long" * 25))
    with pytest.raises(BadConfiguration, match="too long"):
        home.prepare()
    assert not home.at.exists()


def test_a_pid_taken_by_another_program_is_not_ours(tmp_path: Path) -> None:
    """Its command line tells what a process is; a stale note does no harm."""
    home = Home(tmp_path)
    (tmp_path / "run").mkdir()
    home.pid("device").write_text(f"{os.getpid()}\n")
    assert processes.running(home, "device") is None
    assert processes.stop(home, ["device"]) == []
    assert not home.pid("device").exists()


def test_a_daemon_is_seen_from_the_moment_it_is_started(
    empty: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `up` takes it for dead, and a Ctrl-C leaves it behind."""
    (tmp_path / "hocket_idle.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(100):
        pid = processes.start(empty, "device", "hocket_idle")
        seen = processes.pids(empty)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert seen == {"device": [pid]}


def test_a_process_that_ignores_the_request_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL follows after the deadline and the name is reported."""
    monkeypatch.setattr(processes, "END_S", 0.2)
    home = Home(tmp_path)
    (tmp_path / "run").mkdir()
    deaf = (
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", deaf, "hocket_tools.main", "device", "--config", str(home.config("device"))]
    with guarded(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes.running(home, "device") == process.pid
        assert processes.reload(home) == []  # it has no handler: the signal would end it
        assert processes.stop(home, ["device"], wait_s=0.2) == ["device"]


def test_what_is_temporary_is_gone_when_a_ctrl_c_has_left_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a daemon takes its time to end, as it may while it answers."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    slow = "import signal; signal.signal(signal.SIGTERM, lambda *_: signal.alarm(1)); print(flush=True); signal.pause()"
    command = [sys.executable, "-c", slow + "; signal.pause()", "hocket_tools.main", "--config", "device.toml"]

    def interrupted(stack: ExitStack) -> None:
        with temporary_home() as home:
            pipe = subprocess.PIPE
            process = stack.enter_context(guarded(subprocess.Popen(command, cwd=home.at, stdout=pipe, text=True)))
            assert process.stdout is not None
            process.stdout.readline()
            stack.callback(lambda: left.append((process.poll(), home.at.exists())))
            raise KeyboardInterrupt

    left: list[tuple[int | None, bool]] = []
    with pytest.raises(KeyboardInterrupt), ExitStack() as stack:
        interrupted(stack)
    assert left == [(-signal.SIGALRM, False)]


@pytest.mark.slow
def test_no_daemon_is_out_of_reach(tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Two ups at once start one of each; status, up and down know them whatever becomes of run/ and the folder."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        home, moved = Home(Path(folder) / "pair"), Home(Path(folder) / "moved")
        home.prepare_side("device", "laptop", "")
        text = home.config("device").read_text()
        home.config("device").write_text(text.replace("[model]\n", table(tiny_models["device"])))
        up = [sys.executable, "-m", "hocket_tools.main", "up", "--home", str(home.at)]
        try:
            with guarded(subprocess.Popen(up, text=True)) as first, guarded(subprocess.Popen(up, text=True)) as second:
                assert (first.wait(WAIT_S), second.wait(WAIT_S)) == (0, 0)
            begun = processes.pids(home)
            assert {name: len(found) for name, found in begun.items()} == {"device": 1, "device-retrieval": 1}
            assert home.pid("device").read_text() == f"{begun['device'][0]}\n"
            assert processes.reload(home) == ["device-retrieval", "device"]
            shutil.rmtree(home.at / "run")
            assert run(["status", "--home", str(home.at)]) == 0
            assert run(["ask", "--home", str(home.at), "Where?"]) == 0
            capsys.readouterr()
            assert run(["up", "--home", str(home.at)]) == 0
            assert processes.pids(home) == begun
            assert "is running already" in (said := capsys.readouterr().out)
            assert "no cloud:" in said
            assert run(["status", "--home", str(home.at)]) == 0
            assert "has no cloud" in capsys.readouterr().out.partition("\n")[0]
            home.at.rename(moved.at)
            assert run(["status", "--home", str(moved.at)]) == 0
            assert run(["down", "--home", str(moved.at)]) == 0
            assert "stopped: device-retrieval, device" in capsys.readouterr().out
        finally:
            for each in (home, moved):
                processes.stop(each, list(NAMES))
        assert processes.pids(home) == processes.pids(moved) == {}


def test_unavailable_is_what_a_failed_start_is() -> None:
    """Programs see status 69."""
    assert issubclass(StartFailed, Unavailable)


def test_what_leaves_is_said_at_up_in_status_and_counted(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped default in plain words, and a ledger without being asked for."""
    where = ["--home", str(home.at)]
    for command in ("up", "status"):
        assert run([command, *where]) == 0
        assert "draft distributions, or words (drafts = true, the default)" in capsys.readouterr().out
    assert run(["audit", *where, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["total"] == sum(row["bytes"].values()) > 0
    assert set(row["bytes"]) <= {"control", "query", "drafts", "targets"}
