"""The device that editors' servers find."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest
from scripted_device import ScriptedDevice


@pytest.fixture
def device() -> Iterator[ScriptedDevice]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        device = ScriptedDevice(f"ipc://{folder}/device")
        yield device
        device.close()
