"""Thousands of requests made from `/openapi.json`: none makes the gateway fail or hang, and each answer fits.

`make fuzz` installs schemathesis into an environment of its own, since it needs other versions of some packages.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from serving import served

from hocket_gateway.answers import composing

SCHEMATHESIS = Path(__file__).parents[2] / ".venv-fuzz" / "bin" / "schemathesis"
REQUESTS = 10_000
HANGS_S = 120
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.skipif(not SCHEMATHESIS.exists(), reason="schemathesis is not installed: make fuzz")
def test_no_request_makes_the_gateway_fail(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a request breaks the description."""
    monkeypatch.setattr(composing, "IDLE_S", 0.05)  # up to then its stream goes on, and schemathesis leaves none
    options = ["--checks", CHECKS, "--max-examples", "850", "--request-timeout", str(HANGS_S), "--seed", "1"]
    options += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--no-color"]
    with served(tiny_models, at_once=64, a_minute=1_000_000, max_tokens=4, deadline_s=60.0) as front:
        command = [str(SCHEMATHESIS), "run", f"{front.url}/openapi.json", *options]
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"COLUMNS": "200"}, check=False
        )
        assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2_000:]
        assert front.server is not None
        assert front.server.server_state.total_requests >= REQUESTS
        print(front.server.server_state.total_requests, ended.stdout[-2_000:])
        assert front.in_work() == 0
