"""Laws of the command line that need no daemon: help, usage, one-line errors, exit status, colours."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from hocket_bus.errors import BadConfiguration, BadRequest, Busy, Cancelled, DeadlineExceeded, Unavailable
from hocket_bus.messages import AggregationOutcome, Done, Origin
from hocket_bus.trust import pins
from hocket_bus.trust.keys import Keys, fingerprint
from hocket_bus.trust.sealing import SealingKey
from hocket_tools import console
from hocket_tools.commands.asking.ask import _record
from hocket_tools.main import app, run, status_of
from processes import guarded
from waiting import WAIT_S

COMMANDS = sorted(command.name or "" for command in app.registered_commands)
LINK = ["link", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:1"]
HEAVY = {"torch", "transformers", "numpy", "faiss", "sentence_transformers", "matplotlib", "scipy"}


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No pair of the user's own is touched."""
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOCKET_ENDPOINT", raising=False)
    return tmp_path / "home"


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The error, which must be one line on standard error, starting with the program's name."""
    text = capsys.readouterr().err
    assert text.startswith("hocket: ")
    assert text.count("\n") == 1
    return text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_teaches_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help works and shows a call of the command."""
    assert run([command, "--help"]) == 0
    assert f"hocket {command}" in capsys.readouterr().out.partition("Example")[2]


def test_an_argument_that_is_written_as_an_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """`init --side device` for `init device`; an option that is none at all is told as such."""
    assert run(["init", "--side", "device"]) == 2
    assert "write its value without --side" in one_line(capsys)
    assert run(["init", "--sides", "device"]) == 2
    assert "without" not in one_line(capsys)


def test_all_commands_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The overview names every command, without an argument too."""
    assert run([]) == 0
    overview = capsys.readouterr().out
    for name in (
        "ask",
        "up",
        "down",
        "status",
        "top",
        "profile",
        "ingest",
        "documents",
        "watch",
        "search",
        "demo",
        "device",
        "cloud",
        "retrieval",
        "link",
    ):
        assert f" {name} " in overview
    assert " bench " in overview


def test_help_loads_nothing_heavy() -> None:
    """No numerical library is imported before a command runs."""
    code = f"import sys, hocket_tools.main as m; m.run(['--help']); sys.exit(bool({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=WAIT_S, check=False)
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["nope"], 2, "nope"),
        (["ask"], 2, "QUESTION"),
        (["ask", "why?", "--aggregation", "both"], 2, "coupled"),
        (["ask", "why?", "--temperature", "-1"], 2, "temperature"),
        (["ask", "why?", "--endpoint", "nowhere"], 78, "endpoint"),
        (["device", "--config", "absent.toml"], 78, "absent.toml"),
        (["cloud", "--config", "absent.toml"], 78, "absent.toml"),
        (["retrieval", "--config", "absent.toml"], 78, "absent.toml"),
        (["ingest", "--side", "device", "absent.md"], 2, "absent.md"),
        (["ingest", "--side", "left", "absent.md"], 2, "left"),
        (["ingest", "--side", "device", ""], 2, "empty"),
        (["watch", "--side", "device", "absent"], 2, "absent"),
        (["search", "--side", "device", " "], 2, "empty"),
        (["ingest", "--side", "device", "\udcff.md"], 2, "not valid UTF-8"),
        (["documents", "--side", "device", "--remove", ""], 2, "empty"),
        (["documents", "--side", "device", "--remove", "\udcff.md"], 2, "not valid UTF-8"),
        (["profile", "--offline", "--side", "cloud"], 78, "cloud.toml: make one: hocket up --home"),
        (["device", "--config", "/"], 2, "is a directory"),
        (["cloud", "--config", "/"], 2, "is a directory"),
        (["retrieval", "--config", "/"], 2, "is a directory"),
        (["link", "--listen", "here", "--target", "127.0.0.1:1"], 2, "host:port"),
        ([*LINK, "--down", "soon"], 2, "AT:FOR"),
        ([*LINK, "--down=-1:5"], 2, "AT:FOR"),
        ([*LINK, "--down", "1:nan"], 2, "AT:FOR"),
        ([*LINK, "--cut"], 2, "--down"),
        ([*LINK, "--target", "127.0.0.1:65535", "--ports", "2"], 2, "--target"),
        ([*LINK, "--listen", "127.0.0.1:65535", "--ports", "2"], 2, "--listen"),
        ([*LINK, "--listen", "192.0.2.1:7200"], 78, "name an address of this machine"),
        ([*LINK, "--stall", "1"], 2, "stall_every"),
        (["simulate", "--pipeline", "x.foo"], 2, "does not end in .png"),
        (["keys", "show", "--at", "garbage"], 78, "'garbage' is not an endpoint"),
        ([*LINK, "--trace", "absent.txt"], 2, "absent.txt"),
    ],
)
def test_a_mistake_is_one_line_and_a_status(
    arguments: list[str], status: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names what is wrong; the status tells usage from configuration."""
    assert run(arguments) == status
    assert word in one_line(capsys)


def test_a_typo_in_a_configuration_names_the_nearest_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown key is refused with the known one it resembles."""
    config = tmp_path / "r.toml"
    config.write_text('endpoint = "ipc:///tmp/x"\nstate = "/tmp/x"\nchunk_word = 3\n')
    assert run(["retrieval", "--config", str(config)]) == 78
    assert "chunk_words" in one_line(capsys)


def test_without_daemons_programs_get_a_status_and_json(
    empty_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """status --json lists four daemons that do not run and leaves with 69; down has nothing to stop."""
    monkeypatch.setenv("HOCKET_HOME", str(empty_home))
    assert run(["status", "--json"]) == 69
    state = json.loads(capsys.readouterr().out)
    assert [daemon["problem"] for daemon in state["daemons"]] == ["not running"] * 4
    assert run(["down"]) == 0
    assert "nothing was running" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadRequest("x"), 2),
        (BadConfiguration("x"), 78),
        (Unavailable("x"), 69),
        (Busy("x"), 69),
        (DeadlineExceeded("x"), 1),
        (Cancelled("x"), 1),
    ],
)
def test_each_kind_of_error_has_its_status(error: Exception, status: int) -> None:
    """Programs can tell what kind of error it was."""
    assert status_of(error) == status  # type: ignore[arg-type]


def test_control_characters_of_a_model_do_not_reach_the_terminal() -> None:
    """Escape sequences are replaced; line breaks, tabs and other scripts stay."""
    assert console.printable("a\x1b[2Jb\r\x07\x9b\n\tä漢") == "a\ufffd[2Jb\ufffd\ufffd\ufffd\n\tä漢"


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets plain text, a terminal colours, NO_COLOR plain text again."""
    token = console.token("word", "cloud")
    coloured = Console(force_terminal=True, color_system="standard")
    with coloured.capture() as shown:
        coloured.print(token, end="")
    assert shown.get() == "\x1b[35mword\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Console(force_terminal=True, color_system="standard")
    with plain.capture() as shown:
        plain.print(token, end="")
    assert shown.get() == "word"


def test_the_summary_tells_times_and_acceptance() -> None:
    """One line; a side that took no part has a dash."""
    done = Done(
        request=bytes(16),
        seq=3,
        finish="eos",
        token_ids=[5, 6],
        text="x",
        ttft_s=0.25,
        ms_per_token=12.34,
        mode="aggregation",
        seed=9,
        outcome=AggregationOutcome(method="alone", accept_device=0.5),
    )
    line = "2 tokens · first after 250 ms · 12.3 ms per token · written by the device alone"
    assert console.summary(done) == line


def test_the_sources_stand_in_lines_of_their_own() -> None:
    """By share, no control character of a name; an answer from no document says so, one without tokens nothing."""
    origins = [
        Origin(side="device", document="notes\x1b[31m/[bold]ferry.txt", ordinal=2, share=0.625),
        Origin(side="cloud", document="towns.md", ordinal=0, share=0.3, place="p. 3, § De\x1bposit"),
        Origin(side="cloud", document="", ordinal=0, share=0.075),
        Origin(side="cloud", document="none.md", ordinal=0, share=0.0004),
    ]
    done = Done(
        request=bytes(16), seq=1, finish="eos", token_ids=[5], text="x", ttft_s=0.0, ms_per_token=0.0,
        mode="aggregation", seed=9, sources=origins, token_sources=[[0.625, 0.3, 0.075, 0.0]],
    )  # fmt: skip
    lines = console.sources(done)
    assert "\x1b" not in lines[0]
    assert (lines[0].split()[:2], lines[0].endswith("/[bold]ferry.txt, part 3")) == (["62.5%", "device"], True)
    assert lines[1:] == [
        " 30.0%  cloud   towns.md, p. 3, § De\ufffdposit",
        "  7.5%  cloud   passages that it did not name",
    ]
    for none in ([], origins[3:]):
        assert console.sources(structs.replace(done, sources=none)) == ["from no document"]
    assert console.sources(structs.replace(done, sources=[], token_ids=[])) == []
    record = _record(done)
    assert [source["document"] for source in record["sources"]][3:] == ["none.md"]
    more = {"device": "", "subgraph": 0, "score": 0.0, "place": "p. 3, § De\x1bposit"}
    assert record["sources"][1] == {"side": "cloud", "document": "towns.md", "ordinal": 0, "share": 0.3} | more
    assert json.loads(json.dumps(record))["token_sources"] == [[0.625, 0.3, 0.075, 0.0]]
    assert not {"sources", "token_sources"} & set(_record(done, sources=False))


@pytest.mark.parametrize(
    ("solo", "lines"),
    [([], []), ([0, 1, 2], []), ([1, 2], ["one side wrote 2 of 3 tokens alone, the first of them token 2"])],
)
def test_an_answer_that_lost_the_cloud_says_so_on_a_line_of_its_own(solo: list[int], lines: list[str]) -> None:
    """Not one that was whole, and not one that was meant to be alone."""
    done = Done(
        request=bytes(16), seq=1, finish="eos", token_ids=[5, 6, 7], text="x", ttft_s=0.0, ms_per_token=0.0,
        mode="aggregation", seed=9, outcome=AggregationOutcome(method="coupled", solo_steps=solo),
    )  # fmt: skip
    assert console.lost(done) == lines


@pytest.mark.parametrize(("finish", "told"), [("length", True), ("eos", False)])
def test_a_cut_answer_says_how_to_get_more(finish: str, told: bool) -> None:
    """And no other one does."""
    done = Done(
        request=bytes(16),
        seq=1,
        finish=finish,  # type: ignore[arg-type] # one of them
        token_ids=[1],
        text="a",
        ttft_s=0.1,
        ms_per_token=1.0,
        mode="aggregation",
        seed=1,
    )
    assert ("--max-tokens" in console.summary(done)) == told


def test_a_refused_link_leaves_signals_as_they_were() -> None:
    """Blocked signals would be inherited by every process started later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert run(["link", "--listen", "here", "--target", "127.0.0.1:1"]) == 2
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_the_link_command_relays_and_ends_on_request() -> None:
    """Bytes pass through `hocket link`; SIGTERM ends it with what it carried."""
    with socket.create_server(("127.0.0.1", 0)) as target, socket.create_server(("127.0.0.1", 0)) as free:
        target.settimeout(30)
        near, remote = free.getsockname()[1], target.getsockname()[1]
        free.close()
        ends = ["--listen", f"127.0.0.1:{near}", "--target", f"127.0.0.1:{remote}", "--rtt", "2"]
        process = subprocess.Popen(
            [sys.executable, "-m", "hocket_tools.main", "link", *ends],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        with guarded(process):
            assert process.stdout is not None
            assert "Ctrl-C" in process.stdout.readline()
            with socket.create_connection(("127.0.0.1", near), timeout=WAIT_S) as client:
                peer, _ = target.accept()
                with peer:
                    client.sendall(b"through")
                    peer.settimeout(30)
                    assert peer.recv(100) == b"through"
                    process.send_signal(signal.SIGTERM)
                    assert "7 bytes forward, 0 bytes backward" in process.stdout.readline()
        assert process.returncode == 0


@pytest.mark.parametrize("group", ["bench", "keys"])
def test_a_group_without_a_command_shows_its_help_and_complains_of_nothing(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The help is the answer; the status still says that nothing was done."""
    assert run([group]) == 2
    shown = capsys.readouterr()
    assert "Commands" in shown.out + shown.err
    assert "hocket: " not in shown.err


@pytest.mark.parametrize(
    "wrong",
    [
        ["engine", "--rows", "2.5"],
        ["load", "--devices", "0"],
        ["aggregation", "--rtt", "x"],
        ["link", "--rate", "10,0"],
        ["wire", "--vocabularies", "300000"],
        ["wire", "--masses", "2"],
        ["wire", "--masses", "nan"],
    ],
)
def test_lists_of_numbers_are_checked(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A part of a device, none at all, no number, one that cannot be: nothing is measured."""
    assert run(["bench", *wrong]) == 2
    assert wrong[1] in one_line(capsys)


def test_a_named_home_comes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where somebody else's daemon is the one of $HOCKET_ENDPOINT; without --home it is asked."""
    monkeypatch.setenv("HOCKET_ENDPOINT", "nonsense")
    assert run(["ask", "Where?"]) == 78
    assert "'nonsense' is not an endpoint" in one_line(capsys)
    assert run(["top", "--once"]) == 78
    assert "'nonsense' is not an endpoint" in one_line(capsys)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "device.toml").write_text('endpoint = "its own"\n')
    assert run(["ask", "--home", str(tmp_path / "other"), "Where?"]) == 78
    assert "'its own' is not an endpoint" in one_line(capsys)


def test_what_the_system_forbids_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback for a folder that is another user's."""

    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/srv/secret")

    monkeypatch.setattr("hocket_tools.pair.home.Home.ledger", forbidden)
    assert run(["audit", "--home", str(tmp_path)]) == 1
    assert "/srv/secret: Permission denied" in one_line(capsys)


def test_no_key_is_made_for_an_address_that_is_none(empty_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is made once the address is right, and a second call says how to see it."""
    assert run(["keys", "new", "--at", "garbage"]) == 78
    assert "'garbage' is not an endpoint" in one_line(capsys)
    assert not empty_home.exists()
    assert run(["keys", "new", "--at", "tcp://here:7000"]) == 0
    assert "--at tcp://here:7000" in capsys.readouterr().out
    assert run(["keys", "new"]) == 2
    assert "hocket keys show --at" in one_line(capsys)


def test_a_key_that_is_replaced_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    """By its fingerprint; the same key again replaces nothing."""
    first, second = "a" * 40, "b" * 40
    for key, replaced in ((first, False), (first, False), (second, True)):
        assert run(["keys", "allow", "laptop", key]) == 0
        told = capsys.readouterr().out
        assert (f"laptop had another key, {fingerprint(first)}," in told) == replaced
        assert f"laptop {fingerprint(key)} is allowed" in told


def test_keys_of_a_group_are_shown_and_forgotten(empty_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This machine's where its own key is shown, pinned ones in the list, beside the ledger; no secret anywhere."""
    assert run(["keys", "new"]) == 0
    own = Keys(empty_home / "keys").own
    assert f"in a group   {pins.fingerprint(SealingKey.of_secret(own.secret).public)}" in capsys.readouterr().out
    assert run(["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    (empty_home / "device.toml").write_text('[egress]\nledger = "kept/ledger.db"\n')
    public = SealingKey.fresh().public
    pins.Pins(empty_home / "kept" / "group-keys.toml").check("ben", public)
    assert run(["keys", "list", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["name"], record["fingerprint"], record["pinned"]) == ("ben", pins.fingerprint(public), True)
    assert run(["keys", "list"]) == 0
    assert pins.fingerprint(public) in capsys.readouterr().out
    assert run(["keys", "forget", "ben"]) == 0
    assert "ben is forgotten" in capsys.readouterr().out
    assert run(["keys", "forget", "ben"]) == 2
    assert "see: hocket keys list" in one_line(capsys)
