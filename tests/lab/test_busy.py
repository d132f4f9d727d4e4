"""A law of `hocket bench profile`: what loads cores goes when the benchmark does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from waiting import WAIT_S

BENCHMARK = """
import time
from hocket_lab.bench.speed.profile import _busy
with _busy(2):
    print("busy", flush=True)
    time.sleep(10_000)
"""


@pytest.mark.slow
def test_a_benchmark_that_is_killed_leaves_no_load() -> None:
    """Those that count have its standard output, which ends when the last of them has."""
    command = [sys.executable, "-c", BENCHMARK]
    benchmark = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert benchmark.stdout is not None
        assert benchmark.stdout.readline() == "busy\n"
        benchmark.kill()
        benchmark.communicate(timeout=WAIT_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(benchmark.pid, signal.SIGKILL)
        benchmark.wait()
