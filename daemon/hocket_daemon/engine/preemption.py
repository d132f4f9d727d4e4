"""Interrupting a forward pass whose result nobody wants any more, between two layers (paper §7.1)."""

from __future__ import annotations

import threading

from torch import nn
from transformers import PreTrainedModel


class Preempted(Exception):
    """The pass was interrupted; nothing of it may be used."""


class Interrupt:
    """A request to stop, set by one thread and heeded by the compute thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask for the stop."""
        self._event.set()

    def heed(self) -> None:
        """Raise Preempted if the stop was asked for."""
        if self._event.is_set():
            raise Preempted

    def wait(self, seconds: float) -> None:
        """Sleep, unless the stop is asked for: then raise Preempted at once."""
        if self._event.wait(max(0.0, seconds)):
            raise Preempted


def decoder_layers(weights: PreTrainedModel) -> nn.ModuleList:
    """The model's decoder layers, whatever the architecture calls them."""
    number = int(weights.config.get_text_config().num_hidden_layers)
    found = [module for module in weights.modules() if isinstance(module, nn.ModuleList) and len(module) == number]
    assert found, "a causal language model has a list of decoder layers"
    return found[0]
