"""The client works where only its own four packages are installed."""

from __future__ import annotations

import os
import subprocess
import sys

from waiting import WAIT_S

CHECK = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "torch", "transformers", "typer", "rich", "lz4", "faiss"}:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Refuse())
"""


def run(code: str, endpoint: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHECK + code],
        env=os.environ | {"HOCKET_ENDPOINT": endpoint},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_the_client_imports_nothing_beyond_the_tiny_install() -> None:
    """No numpy, torch or typer; and of ours only the bus."""
    done = run("import hocket_client, hocket_client.__main__; print(sorted(m for m in sys.modules if 'hocket' in m))")
    assert done.returncode == 0, done.stderr
    assert "hocket_bus" in done.stdout
    assert not any(name in done.stdout for name in ("hocket_daemon", "hocket_tools", "hocket_retrieval"))


def test_what_is_no_endpoint_is_said_in_one_line() -> None:
    """No traceback of the bus."""
    done = run("import hocket_client.__main__ as m; sys.argv = ['-m', 'why?']; sys.exit(m.main())", endpoint="garbage")
    assert done.returncode == 1
    assert done.stderr.startswith("hocket: 'garbage' is not an endpoint")
    assert done.stderr.count("\n") == 1


def test_the_command_says_which_extra_is_missing() -> None:
    """One line with the remedy, no traceback."""
    done = run("from hocket_tools.entry import main; main()")
    assert done.returncode == 1
    assert "pip install ./models '.[all]'" in done.stderr
    assert done.stderr.count("\n") == 1
