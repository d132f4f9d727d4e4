"""A full disk as an error with a remedy, for somebody who gets a model."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from hocket_bus.errors import Unavailable


@contextmanager
def writing_models() -> Iterator[None]:
    """Raise Unavailable, with a remedy, for a disk that runs full within the context."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise Unavailable(
            f"the disk is full ({error.strerror})", "make room, or set HOCKET_MODELS to a folder on another disk"
        ) from error
