"""DRDG/SW (paper §7.1): both sides answer alone and at once; one exchange at the end would pick a whole sequence.

Nothing can be shown before both have ended. Time alone is measured, so the pick itself, a comparison of two numbers
that come with the sequences, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hocket_client import Client
from hocket_lab.bench.running.stream import Run, ask


def run(device: Client, cloud: Client, prompt: str, options: Mapping[str, Any]) -> Run:
    """Return the device's answer, shown when the slower side has ended; `cloud` is a client over the link."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask, client, prompt, alone=True, **options) for client in (device, cloud)]
        sequences = [future.result() for future in both]
    end_s = max(sequence.times_s[-1] for sequence in sequences)
    own = sequences[0]
    return Run([end_s] * len(own.times_s), own.ids)
