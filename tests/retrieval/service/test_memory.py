"""Law: memory that work took goes back to the system once the work is over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_daemon_gives_back_what_an_ingestion_took() -> None:
    """However little of it is still in use in between."""
    program = Path(__file__).parents[1] / "give_back_here.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    before, at_work, after = map(int, done.stdout.split())
    assert at_work > 4 * before
    assert after < 1.3 * before
