"""The number of torch's CPU threads, one for the whole process: each model sets its own before it computes."""

from __future__ import annotations

import torch


def use_threads(threads: int) -> None:
    """Set the number of CPU threads, as another model may have set another."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
