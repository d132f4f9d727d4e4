"""Law: memory that work took goes back to the system once the work is over."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
from pathlib import Path
from hocket_bus import messages as m
from hocket_retrieval.jobs import Jobs
from hocket_retrieval.memory import give_back

MIB = 1 << 20
pages = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // MIB
looked = []

class Working:
    def work(self, job):
        held = [[bytes(64 << 10) for _ in range(2048)], []]
        held[1] = [bytes(64) for _ in range(64)]
        between = [bytearray(1000) if number % 64 else bytearray(70_000) for number in range(200_000)]
        self.kept = between[::5000]
        looked.append(pages())
        between.clear()
    def build(self, stop):
        pass

before = pages()
jobs, working = Jobs(), Working()
jobs.stop, taken = jobs.stop, threading.Event()
class graph:
    @staticmethod
    def is_behind():
        looked.append(pages())
        jobs.stop()
        return True
working.graph = graph
import hocket_retrieval.jobs as module
module.FOLLOW_S = 0.01
jobs.work(working)
print(before, *looked)
"""


def test_a_daemon_gives_back_what_an_ingestion_took() -> None:
    """However little of it is still in use, in between."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, at_work, after = map(int, done.stdout.split()[:3])
    assert at_work > 4 * before
    assert after < 1.3 * before
