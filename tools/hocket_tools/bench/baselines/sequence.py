"""DRDG/SW (paper §7.1): both sides answer alone and at once; one exchange at the end would pick a whole sequence.

Nothing can be shown before both have ended. Time alone is measured, so the pick itself, a comparison of two numbers
that come with the sequences, is left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hocket_bus.messages import Done
from hocket_client import Client


def run(device: Client, cloud: Client, prompt: str, options: Mapping[str, Any]) -> tuple[float, list[Done]]:
    """Seconds from the question to the last token, which is also the first one shown; and both sequences.

    `cloud` is a client of the cloud's daemon over the link.
    """

    def ask(client: Client) -> Done:
        return client.ask(prompt, alone=True, **options).result()

    started_s = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(ask, client) for client in (device, cloud)]
        sequences = [future.result() for future in both]
    return time.monotonic() - started_s, sequences
