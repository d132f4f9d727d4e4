"""A GGUF file of a bundled model, for whatever reads such files."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_gguf


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled device model in float32, in a folder of its own."""
    file = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_gguf.write(file)
    return file
