"""The model that all devices of a measurement in one process share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager

from hocket_daemon.engine.language_model import LanguageModel
from hocket_daemon.engine.opening.engines import open_model
from hocket_daemon.engine.settings import KVSettings, ModelSettings
from hocket_lab.bench.running.product import THREADS

_KV_BYTES = 8_000_000_000


@contextmanager
def opened(name: str, dtype: str, rows: int) -> Iterator[LanguageModel]:
    """Open the model with room for `rows` rows; what it has read of passages is stored meanwhile."""
    with tempfile.TemporaryDirectory(prefix="hocket-group-") as folder:
        how = ModelSettings(name=name, dtype=dtype, threads=THREADS, slots=rows, prefill_tokens=512, kv_bytes=_KV_BYTES)
        model = open_model(how, "device", KVSettings(folder=folder))
        assert model.stored is not None
        with closing(model.stored):
            yield model
