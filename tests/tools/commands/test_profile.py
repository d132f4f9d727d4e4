"""`hocket profile`: what programs print becomes figures, every failure a line with its remedy, and files stay whole."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket_bus.deadline import Deadline
from hocket_bus.errors import BadRequest, Busy, DeadlineExceeded, HocketError, ProtocolError, Unavailable
from hocket_bus.messages import Welcome
from hocket_bus.sockets import Bus
from hocket_daemon.profiling.profiles import Figure, NetworkProfile, load, network_file, save
from hocket_tools.main import run
from hocket_tools.network import iperf3
from hocket_tools.network.ping import Pings, ping
from hocket_tools.network.survey import Target, survey
from hocket_tools.pair.loopback import trust_self
from ports import free_port
from waiting import WAIT_S

PINGED = """PING x (192.0.2.7) 56(84) bytes of data.

--- 192.0.2.7 ping statistics ---
10 packets transmitted, 9 received, 10% packet loss, time 1836ms
rtt min/avg/max/mdev = 19.800/20.500/31.250/1.200 ms
"""
Fake = Callable[..., None]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH; a home of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    return folder


@pytest.fixture
def fake(programs: Path) -> Fake:
    """Makes a program that prints, complains and leaves as told, and notes its arguments and language."""

    def make(name: str, out: str = "", err: str = "", status: int = 0) -> None:
        (programs / f"{name}.out").write_text(out + "\n")
        (programs / f"{name}.err").write_text(err + "\n")
        lines = [
            f'printf "%s %s\\n" "$LC_ALL" "$*" >> {programs}/{name}.calls',
            f'while IFS= read -r line; do echo "$line"; done < {programs}/{name}.out',
            f'while IFS= read -r line; do echo "$line" >&2; done < {programs}/{name}.err',
        ]
        (programs / name).write_text("\n".join(["#!/bin/sh", *lines, f"exit {status}"]) + "\n")
        (programs / name).chmod(0o755)

    return make


def lives(pid: int) -> bool:
    """Whether a process runs; one that was killed and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def arrived(bits_per_s: float) -> str:
    return json.dumps({"end": {"sum_received": {"bits_per_second": bits_per_s}}}) + "\n"


def test_ping_is_read_with_its_loss_in_plain_english(programs: Path, fake: Fake) -> None:
    """The mean, the ends and the share of lost packets, in seconds; the program runs under LC_ALL=C."""
    fake("ping", PINGED)

    assert ping("cloud.example") == Pings(0.0198, 0.0205, 0.03125, 0.1)
    assert (programs / "ping.calls").read_text().startswith("C -n -c 10 ")


@pytest.mark.parametrize(
    ("out", "err", "kind", "line"),
    [
        ("", "ping: x: Name or service not known\n", Unavailable, "no host is called 'x': check the name"),
        ("", "ping: x: Temporary failure in name resolution\n", Unavailable, "no host is called 'x'"),
        ("", "ping: socket: Operation not permitted\n", Unavailable, "may not send ICMP packets: as root: setcap"),
        ("", "ping: connect: Network is unreachable\n", Unavailable, "there is no route to x"),
        (
            "10 packets transmitted, 0 received, 100% packet loss, time 9ms\n",
            "",
            DeadlineExceeded,
            "x does not answer ping: it may be down, or a firewall",
        ),
        ("", "ping: what is this\n", ProtocolError, "ping said: ping: what is this: run it by hand"),
        ("", "", ProtocolError, "ping said: nothing"),
    ],
)
def test_each_failure_of_ping_is_a_line_with_its_remedy(
    fake: Fake, out: str, err: str, kind: type[HocketError], line: str
) -> None:
    """By what the program says, not by its status alone."""
    fake("ping", out, err, status=2)

    with pytest.raises(kind) as caught:
        ping("x")

    assert line in str(caught.value)


@pytest.mark.parametrize("back", [False, True])
def test_iperf3_is_read_as_bytes_that_arrived(programs: Path, fake: Fake, back: bool) -> None:
    """Both directions; -R asks for the way back."""
    fake("iperf3", arrived(80e6))

    assert iperf3.bandwidth("x", back=back, port=7) == 10e6
    assert ("-R" in (programs / "iperf3.calls").read_text()) is back


@pytest.mark.parametrize(
    ("said", "kind", "line"),
    [
        ("unable to connect to server: Connection refused", Unavailable, "no iperf3 server listens at x, port 5201: "),
        ("unable to connect to server: Name or service not known", Unavailable, "no host is called 'x'"),
        ("the server is busy running a test. try again later", Busy, "busy with another measurement"),
        ("unable to connect to server: Connection timed out", DeadlineExceeded, "no iperf3 server answers at x"),
        ("something new", ProtocolError, "iperf3 said: something new: run it by hand"),
    ],
)
def test_each_failure_of_iperf3_is_a_line_with_its_remedy(
    fake: Fake, said: str, kind: type[HocketError], line: str
) -> None:
    """Version 3.12 leaves with status 0 and an error in its report."""
    fake("iperf3", json.dumps({"end": {}, "error": said}))

    with pytest.raises(kind) as caught:
        iperf3.bandwidth("x", back=False)

    assert line in str(caught.value)


@pytest.mark.parametrize("out", ["no json", "[]", "{}", '{"end": {"sum_received": {"bits_per_second": "many"}}}'])
def test_an_unknown_report_of_iperf3_is_named(fake: Fake, out: str) -> None:
    """Never a traceback."""
    fake("iperf3", out)

    with pytest.raises(ProtocolError, match="run it by hand"):
        iperf3.bandwidth("x", back=False)


def test_a_missing_program_is_named_with_the_package_that_has_it(programs: Path) -> None:
    """Nothing is on PATH here."""
    with pytest.raises(Unavailable, match="ping is not installed: apt-get install iputils-ping"):
        ping("x")
    with pytest.raises(Unavailable, match="iperf3 is not installed: apt-get install iperf3"):
        iperf3.bandwidth("x", back=True)


def test_a_program_that_does_not_end_is_ended(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its deadline."""
    from hocket_tools.network.program import run as run_program

    (programs / "ping").write_text("#!/bin/sh\nwhile :; do :; done\n")
    (programs / "ping").chmod(0o755)

    with pytest.raises(DeadlineExceeded, match=r"ping did not end within 0\.2 s"):
        run_program(["ping"], "iputils-ping", 0.2)


@pytest.mark.parametrize("host", ["", "-c", "a b", "x;y", "$(x)"])
def test_what_is_no_host_reaches_no_program(programs: Path, fake: Fake, host: str) -> None:
    """A dash would be an option."""
    fake("ping", PINGED)

    with pytest.raises(BadRequest, match="is not a host"):
        ping(host)

    assert not (programs / "ping.calls").exists()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cloud.example", Target("cloud.example")),
        ("cloud.example:7100", Target("cloud.example", "tcp://cloud.example:7100")),
        ("tcp://192.0.2.1:7100", Target("192.0.2.1", "tcp://192.0.2.1:7100")),
        ("[2001:db8::1]:7100", Target("2001:db8::1", "tcp://[2001:db8::1]:7100")),
        ("2001:db8::1", Target("2001:db8::1")),
        ("ipc:///run/cloud", Target("", "ipc:///run/cloud")),
    ],
)
def test_a_target_is_a_host_or_where_a_daemon_listens(text: str, target: Target) -> None:
    """With a port the bus's echo is measured too."""
    assert Target.parse(text) == target


def test_what_can_be_measured_is_shown_beside_what_cannot(
    fake: Fake, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A closed iperf3 port and no daemon: ping alone remains, is stored, and the status is 0."""
    fake("ping", PINGED)
    fake("iperf3", json.dumps({"error": "unable to connect to server: Connection refused"}))

    assert run(["profile", "127.0.0.1", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["source"], one["now"]) for one in found["figures"]] == [("round trip", "ping", 0.0205)]
    assert [(one["source"], one["remedy"]) for one in found["problems"]] == [
        ("iperf3", "start it there: iperf3 -s -p 5201")
    ]
    stored = load(network_file("127.0.0.1", tmp_path / "home"), NetworkProfile)
    assert stored is not None
    assert stored.figures[0].now == 0.0205


def test_nothing_measured_leaves_with_69_and_no_file(
    programs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each failure has its line."""
    assert run(["profile", "cloud.example"]) == 69

    said = " ".join(capsys.readouterr().err.split())
    assert "not measured by ping: the program ping is not installed: apt-get install iputils-ping" in said
    assert "not measured by iperf3: the program iperf3 is not installed: apt-get install iperf3" in said
    assert not (tmp_path / "home").exists()


def test_without_a_peer_the_command_says_how_to_name_one(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No device.toml and no argument."""
    assert run(["profile"]) == 69
    error = capsys.readouterr().err
    assert "no pair in" in error
    assert "run: hocket profile HOST" in error


def test_the_table_names_each_figures_source(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    """Round trip by ping, bandwidth there and back by iperf3."""
    fake("ping", PINGED)
    fake("iperf3", arrived(80e6))

    assert run(["profile", "cloud.example"]) == 0

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["round", "trip", "20.50", "ms", "20.50", "ms", "ping"] in [row[:7] for row in rows]
    assert ["bandwidth", "back", "80.0", "Mbit/s", "80.0", "Mbit/s", "iperf3"] in [row[:7] for row in rows]


def test_the_echo_of_a_daemon_is_measured_and_a_disagreement_is_noted(
    programs: Path, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed port is a line; a ping that says something quite different from the echo is doubted."""
    monkeypatch.setenv("HOCKET_HOME", str(tmp_path / "home"))
    fake("ping", PINGED.replace("20.500", "900.0"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    cloud = f"127.0.0.1:{free_port()}"
    trust_self(tmp_path / "home" / "keys", f"tcp://{cloud}", f"tcp://127.0.0.1:{port}")
    with monkeypatch.context() as patched:
        patched.setattr("hocket_tools.network.echo._CONNECT_S", 1.5)
        patched.setattr("hocket_bus.sockets.link.LIVENESS_S", 0.8)
        closed = survey(Target.parse(f"127.0.0.1:{port}"), 5201, 1, lambda _: None)
    assert f"no daemon answers at tcp://127.0.0.1:{port}" in [problem.text for problem in closed.problems]

    with Bus(lambda _: None) as bus:
        bus.serve(f"tcp://{cloud}", lambda _: Welcome(role="cloud", epoch=1))
        found = survey(Target.parse(cloud), 5201, 1, lambda _: None)

    assert [(one.name, one.source) for one in found.figures] == [("round trip", "echo"), ("round trip", "ping")]
    assert 0 < found.figures[0].now < 0.4
    assert "900.0 ms by ping" in found.notes[0]


def test_a_new_run_moves_the_average_and_keeps_what_it_did_not_measure(tmp_path: Path) -> None:
    """The real-time figure is the new one."""
    old = [
        Figure(name="round trip", source="ping", now=0.01, average=0.01, date="1"),
        Figure(name="bandwidth back", source="iperf3", now=1e6, average=1e6, date="1"),
    ]
    new = Figure(name="round trip", source="ping", now=0.02, average=0.02, date="2")
    profile = NetworkProfile(host="x", figures=old).with_new([new])

    trip, back = profile.figures
    assert (trip.now, trip.date) == (0.02, "2")
    assert 0.01 < trip.average < 0.02
    assert back == old[1]
    save(tmp_path / "deep" / "x.json", profile)
    assert load(tmp_path / "deep" / "x.json", NetworkProfile) == profile


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": 1}', b'{"host": "x", "more": 1}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: bytes) -> None:
    """It is measured anew."""
    (tmp_path / "x.json").write_bytes(content)

    assert load(tmp_path / "x.json", NetworkProfile) is None


def test_ctrl_c_leaves_130_and_no_half_written_file(programs: Path, tmp_path: Path) -> None:
    """The signal comes while ping runs; the earlier file stays as it was and the program is gone."""
    file = network_file("cloud.example", tmp_path / "home")
    before = NetworkProfile(host="cloud.example")
    save(file, before)
    pipe = tmp_path / "started"
    os.mkfifo(pipe)
    (programs / "ping").write_text(f"#!/bin/sh\necho $$ > {pipe}\nwhile :; do :; done\n")
    (programs / "ping").chmod(0o755)
    command = [sys.executable, "-m", "hocket_tools.main", "profile", "cloud.example"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        ping_pid = int(pipe.read_text())
        process.send_signal(2)
        process.communicate(timeout=WAIT_S)

    assert process.returncode == 130
    assert load(file, NetworkProfile) == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    deadline = Deadline.after(WAIT_S)
    while lives(ping_pid) and not deadline.passed:
        os.sched_yield()
    assert not lives(ping_pid)


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed (Debian: iputils-ping)")
def test_the_real_ping_reaches_this_machine() -> None:
    """Skipped where ICMP is not allowed."""
    try:
        found = ping("127.0.0.1", packets=2)
    except Unavailable as error:
        pytest.skip(str(error))

    assert 0 <= found.min_s <= found.mean_s <= found.max_s < 5
    assert found.loss < 1


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed (Debian: iperf3)")
def test_the_real_iperf3_measures_both_ways_and_names_a_closed_port() -> None:
    """Against a server of its own."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(Unavailable, match=f"no iperf3 server listens at 127.0.0.1, port {port}"):
        iperf3.bandwidth("127.0.0.1", back=False, port=port, seconds=1)
    server = subprocess.Popen(["iperf3", "-s", "-p", str(port), "--forceflush"], stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            assert server.poll() is None
        try:
            rates = [iperf3.bandwidth("127.0.0.1", back=back, port=port, seconds=1) for back in (False, True)]
        finally:
            server.kill()

    assert min(rates) > 0
