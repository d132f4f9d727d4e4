"""Torch has one number of CPU threads for the whole process: each model sets its own before it computes."""

from __future__ import annotations

import torch


def use_threads(threads: int) -> None:
    """Another model may have set another number."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
