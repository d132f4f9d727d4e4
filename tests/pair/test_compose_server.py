"""Memory that a server of text writes for devices: transformers' own server, as it is, alive and killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from harness import pair
from real_server import MODEL, listens, needs_serving, serve, started

from hocket_bus.messages import MemoryRequest
from hocket_daemon.composition.remembering import EXTRACTIVE
