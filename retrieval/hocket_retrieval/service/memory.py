"""Return of memory to the system once work is over: malloc keeps what it has, for work that may never come."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress

# What oneDNN makes for batches of one length it keeps for a thousand lengths; a pass needs that of its own alone.
_KEPT = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16", "LRU_CACHE_CAPACITY": "16"}


def keep_little() -> None:
    """Limit the caches of oneDNN; to be called before torch is loaded."""
    for name, number in _KEPT.items():
        os.environ.setdefault(name, number)


def give_back() -> None:
    """Return unused memory to the system; costs some ms. A libc without `malloc_trim` does so by itself."""
    gc.collect()
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
