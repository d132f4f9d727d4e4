"""Whether vLLM is installed: tests of it are skipped where it is not, and say why."""

from __future__ import annotations

import pytest

from hocket_daemon.engine.backends.vllm.vllm_engine import is_installed

needs_vllm = pytest.mark.skipif(not is_installed(), reason="vLLM is not installed: make test-vllm")

SMALL: dict[str, bool | int | float | str] = {"enforce_eager": True, "block_size": 32}  # a CPU knows no smaller blocks
