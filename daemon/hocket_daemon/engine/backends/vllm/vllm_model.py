"""vLLM's models: a GPU server's, on as many GPUs as vLLM spreads it over (docs/engine.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence

import structlog
import torch
from msgspec.structs import replace
from transformers import AutoConfig, AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from hocket_bus.errors import BadConfiguration
from hocket_bus.messages import Side

from ...preemption import Interrupt
from ...sampling.heads import MAX_IDS, Heads
from ...segments import Segment
from ...settings import PREFILL_TOKENS, ModelSettings
from ...text.tokenizer import Prefix, Worded, fingerprint, size_of
from ..automatic import place_of
from ..transformers.architecture import context_of, ends_of, shape_of
from .vllm_engine import SPARE, Engine, check_version
from .vllm_rows import VllmRows

_CAPTURED_TOKENS = 512  # of the longest pass that vLLM replays on a GPU: a part of a prompt, and a token of every row
_REREAD_TOKENS = 32  # of a row that was cut, at most: a block's
_SOFTWARE = 70  # the exit status of an inner fault, as sysexits has it
log = structlog.get_logger(__name__)


class VllmModel(Worded):
    """Weights in vLLM's hands, a tokenizer and rows. Documents are kept by vLLM's own prefix cache, in memory."""

    tokenizer: PreTrainedTokenizerBase
    slots: VllmRows
    stored = None
    rows_cost = False
    reads_ahead = False  # a row that gets more than one token is a prompt's part to vLLM

    def __init__(self, settings: ModelSettings, side: Side, why: str = "") -> None:
        """Load the model; `why` is the reason for which it was chosen. Raises BadConfiguration."""
        check_version()
        self.name, place = settings.name, place_of(settings.name, side)
        try:
            config = AutoConfig.from_pretrained(place, trust_remote_code=False).get_text_config()
            super().__init__(AutoTokenizer.from_pretrained(place, trust_remote_code=False))
            generation = _generation(place)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise BadConfiguration(f"the model '{place}' does not load ({reason})", "name its folder") from error
        vocabulary = self.tokenizer.get_vocab()
        self.fingerprint, self.vocabulary = fingerprint(self.tokenizer), size_of(vocabulary, place)
        context, few = context_of(config, settings.context, SPARE)
        has_gpu = torch.cuda.is_available()
        captured = _CAPTURED_TOKENS if has_gpu and not settings.vllm.get("enforce_eager") else None
        beside_rows = max(PREFILL_TOKENS, (captured or 0) - settings.slots)
        self.prefill_tokens = settings.prefill_tokens or beside_rows
        self._engine = Engine(
            place,
            replace(settings, context=context),
            top=min(MAX_IDS, int(config.vocab_size)),
            vocabulary=self.vocabulary,
            pass_tokens=self.prefill_tokens + settings.slots * _REREAD_TOKENS,
            captured_tokens=captured,
            lost=_end,
        )
        self.slots = VllmRows(self._engine, settings.slots, context, self.vocabulary)
        self.compute = f"vLLM on {torch.cuda.get_device_name() if has_gpu else 'a CPU'}"
        self.precision = str(self._engine.config.dtype).removeprefix("torch.")
        self.shape = shape_of(config, self.vocabulary)
        self.eos = ends_of(generation, self.tokenizer)
        blocks, size = self._engine.blocks
        self.why = "; ".join(filter(None, (why, few, f"{blocks} blocks of {size} tokens")))

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments, in one forward pass where they fit; return for each the MAX_IDS likeliest ids.

        Raises Preempted, and BadRequest where a row has no room; the rows are then as they were.
        """
        self.slots.check_room(segments)
        return self.slots.append(segments, interrupt or Interrupt())

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:  # noqa: ARG002 - vLLM finds it by itself
        """Return False: a document that was read lately is found by its blocks when it is read again."""
        return False

    def keep(self, row: int, prefix: Prefix) -> None:
        """Do nothing: the document's blocks are kept until others need them."""

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:  # noqa: ARG002 - there is no store
        """Return False: there is no room to be reserved."""
        return False

    def close(self) -> None:
        """Free the engine, and end its processes."""
        self._engine.close()


def _generation(place: str) -> GenerationConfig | None:
    """Read what a model's folder says of the ends of its texts; None where it says nothing."""
    try:
        return GenerationConfig.from_pretrained(place)
    except OSError:
        return None


def _end() -> None:
    """End at once: whoever is served goes on as after any crash, and the service is started again."""
    log.critical("vLLM has failed, and the daemon ends with it")
    os._exit(_SOFTWARE)
