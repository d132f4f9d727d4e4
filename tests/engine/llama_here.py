"""Whether llama.cpp is installed: tests of GGUF models are skipped where it is not, and say why."""

from __future__ import annotations

import pytest

from hocket_daemon.engine.backends.llamacpp.llama import is_installed

needs_llama = pytest.mark.skipif(not is_installed(), reason="llama.cpp is not installed")
