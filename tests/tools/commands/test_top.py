"""Laws of `hocket top`: rates are growth over time, and it works live, once, for programs and for nobody."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Pair, pair

from hocket_tools.main import run
from hocket_tools.pair.pace import pace
from hocket_tools.pair.state import DaemonState
from processes import guarded
from waiting import WAIT_S

QUESTION: dict[str, Any] = {"max_tokens": 400, "seed": 1, "temperature": 1.0, "ignore_eos": True}


def state(**figures: float) -> DaemonState:
    names = {name.replace("__", '{x="', 1) + '"}' if "__" in name else name: value for name, value in figures.items()}
    return DaemonState("device", None, True, True, {"model": "m"}, names)


def test_rates_are_what_grew_over_the_time() -> None:
    """Shares of what grew meanwhile, not of all; means per event; errors since the start."""
    before = state(tokens_total__both=100, tokens_total__solo=5, accepted_total__device=90, errors_total__busy=1)
    after = state(
        tokens_total__both=106,
        tokens_total__solo=7,
        tokens_total__resampled=2,
        accepted_total__device=96,
        decode_seconds_total=0.6,
        decode_steps_total=12,
        sent_bytes_total__drafts=4000,
        errors_total__busy=1,
    )
    found = pace(before, after, 2.0)
    assert (found.tokens_per_s, found.tokens) == (5.0, 115)
    assert found.proposed == {"both": 0.6, "solo": 0.2, "resampled": 0.2}
    assert found.accepted == {"device": 0.75}
    assert found.decode_s == pytest.approx(0.05)
    assert found.sent_bytes_per_s == {"drafts": 2000.0}
    assert found.errors == {"busy": 1}


def test_members_are_those_that_had_part_in_a_token() -> None:
    """Since the start, since answers with members are few; how far away they are is said of all."""
    now = state(member_tokens_total__ben=40, member_accepted_total__ben=30, member_tokens_total__carl=0)
    found = pace(state(), now, 1.0)
    assert (found.members, found.member_rtts_s) == ({"ben": 0.75}, {})


def test_a_daemon_that_began_anew_counts_from_nothing() -> None:
    """No rate is negative; nothing at all is no share."""
    found = pace(state(tokens_total__both=1000), state(tokens_total__both=8), 2.0)
    assert found.tokens_per_s == 4.0
    still = pace(state(tokens_total__both=8), state(tokens_total__both=8), 2.0)
    assert (still.tokens_per_s, still.proposed, still.accepted, still.decode_s) == (0.0, {}, {}, None)


@pytest.fixture(scope="module")
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    """A pair that answers a long question."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_cloud(hold_s=0.1)
        made.start_device(hold_s=0.1)
        stream = made.client().ask("kala mira?", deadline_s=600.0, **QUESTION)
        next(iter(stream))
        yield made
        stream.cancel()


def both(made: Pair) -> list[str]:
    return ["--endpoint", made.endpoint("device"), "--endpoint", made.endpoint("cloud")]


@pytest.mark.slow
def test_programs_get_one_object_per_look(made: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """Tokens flow on both sides, and the device knows its round trip and what it sends."""
    assert run(["top", *both(made), "--once", "--json", "--every", "3"]) == 0
    device, cloud = json.loads(capsys.readouterr().out)["daemons"]
    assert device["tokens_per_s"] > 0
    assert cloud["tokens_per_s"] > 0
    assert device["requests"] == cloud["requests"] == 1
    assert 0 <= device["accepted"]["cloud"] <= 1
    assert device["rtt_s"] > 0
    assert device["decode_s"] >= 0.1
    assert device["sent_bytes_per_s"]["drafts"] > 0


def test_without_a_terminal_it_is_one_table(made: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """And it ends; a daemon that does not answer is a column and a status."""
    assert run(["top", *both(made)]) == 0
    assert "round trip" in capsys.readouterr().out
    assert run(["top", *both(made), "--endpoint", "ipc:///nowhere/at/all"]) == 69
    assert "no daemon answers" in capsys.readouterr().out


def test_on_a_terminal_it_goes_on_until_ctrl_c(made: Pair) -> None:
    """It draws more than one look; the end is no error."""
    own, its = pty.openpty()
    arguments = [sys.executable, "-m", "hocket_tools.main", "top", *both(made), "--every", "0.2"]
    with guarded(subprocess.Popen(arguments, stdin=its, stdout=its, stderr=its, text=True)) as process:
        os.close(its)
        seen = b""
        while seen.count(b"round trip") < 3:
            seen += os.read(own, 65_536)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                if not os.read(own, 65_536):
                    break
            except OSError:  # the terminal is gone with its last process
                break
        assert process.wait(WAIT_S) == 0
    os.close(own)


def test_without_a_pair_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and status 69."""
    assert run(["top", "--home", str(tmp_path), "--once"]) == 69
    assert "hocket up" in capsys.readouterr().err
