"""transformers' models: any causal language model that its AutoModelForCausalLM loads, over slots of our own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import structlog
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from hocket_bus.messages import Side
from hocket_retrieval.embedding.packed import pack

from ...preemption import Interrupt
from ...runtime.stored import open_store
from ...sampling.heads import MAX_IDS, Heads, whole
from ...segments import Segment, Wanted, wanted
from ...settings import PREFILL_TOKENS, KVSettings, ModelSettings
from ...text.tokenizer import Worded, fingerprint, size_of
from ..automatic import place_of
from ..cut import cut
from ..keeping import Keeping
from ..threads import use_threads
from .architecture import context_of, ends_of, shape_of
from .attention import decoder_layers, use_slots
from .captured import Captive, CapturedPasses, Fed
from .graphs import Capture, cuda_graphs
from .loading import dtype_of, load
from .slots import Plan, Slots

log = structlog.get_logger(__name__)


class TransformersModel(Worded, Keeping):
    """Weights, tokenizer and slots. Used by one thread at a time."""

    tokenizer: PreTrainedTokenizerBase
    rows_cost = False
    slots: Slots

    def __init__(self, settings: ModelSettings, side: Side, kv: KVSettings | None = None, why: str = "") -> None:
        """Load the model; `why` is the reason for which it was chosen. Raises BadConfiguration."""
        self.why = why
        self._threads = settings.compute_threads
        use_threads(self._threads)
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.name = settings.name
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        folder = self.folder = place_of(settings.name, side)
        self.reads_ahead = self.device.type == "cpu"  # a captured pass has fixed widths
        self._weights, tokenizer = load(folder, dtype_of(settings.dtype, self.device), self.device)
        super().__init__(tokenizer)
        text = self._weights.config.get_text_config()
        self._context, few = context_of(text, settings.context)
        self.why = few or self.why
        self._asked_tokens = settings.prefill_tokens
        self.prefill_tokens = settings.prefill_tokens or PREFILL_TOKENS
        self.stored = open_store(kv, model_digest(self._weights)) if kv is not None else None
        self.fingerprint = fingerprint(self.tokenizer)
        self.vocabulary = size_of(self.tokenizer.get_vocab(), folder)
        self.eos = ends_of(self._weights.generation_config, self.tokenizer)
        self.shape = shape_of(text, self.vocabulary)
        # What a pass reads of them; those that two layers share count once.
        self.weight_bytes = sum(weight.numel() * weight.itemsize for weight in self._weights.parameters())
        self.why = "; ".join(filter(None, (self.why, pack(self._weights))))
        use_slots(self._weights)
        self._interrupt: Interrupt | None = None
        self._no_mask = torch.zeros(1, 1, 1, 1, device=self.device)  # transformers makes one unless it is given one
        for layer in decoder_layers(self._weights):
            layer.register_forward_pre_hook(self._check_interrupt)
        self.open_slots(settings.slots, settings.kv_bytes)
        if self._captured is not None:
            step_ms = 1000 * self._captured.step_s
            part = f"prompts in parts of {self.prefill_tokens} tokens, steps of {step_ms:.1f} ms"
            self.why = "; ".join(filter(None, (self.why, part)))

    @property
    def precision(self) -> str:
        """The number format of the weights."""
        return str(self._weights.dtype).removeprefix("torch.")

    @property
    def compute(self) -> str:
        """The device that the forward passes run on."""
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type

    def open_slots(self, slots: int, max_bytes: int) -> None:
        """Create empty rows, taking their memory at once. Raises BadConfiguration when it is more than `max_bytes`."""
        self._captured: CapturedPasses | None = None
        self.slots = Slots(self._weights.config, slots, self._context, max_bytes)
        (row,) = self.slots.take(1)
        self.read([Segment([row], [[0]])])
        self.slots.give_back([row])
        if self.device.type == "cuda":
            self.capture(cuda_graphs())

    @torch.inference_mode()
    def capture(self, how: Capture) -> None:
        """Let passes be replayed as `how` captures them; a model that cannot be captured is run step by step."""
        captive = Captive(self.slots, self._by_plan, self._weights.dtype, self.device)
        self._captured = None
        try:
            self._captured = CapturedPasses(captive, how, self._asked_tokens)
        except RuntimeError as error:
            log.warning("passes are not captured, and slower for it", model=self.name, reason=str(error))
        else:
            self.prefill_tokens = self._captured.part_tokens

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments in one forward pass; return each one's heads, as far as this device gives them.

        Padded ends of the vocabulary get no mass. Raises Preempted; the rows' lengths are then to be set again. Raises
        BadRequest where a row has no room, before any is written.
        """
        self.slots.check_room(segments)
        self._interrupt = interrupt
        use_threads(self._threads)
        asked = wanted(segments)
        logits = self._forward(segments, asked)[:, : self.vocabulary]
        found = torch.softmax(logits.float(), dim=-1)
        if self.device.type == "cpu" or self.vocabulary <= MAX_IDS:
            return whole(found.cpu().numpy(), asked)
        return cut(found, asked)

    def _check_interrupt(self, *_: object) -> None:
        if self._interrupt is not None:
            self._interrupt.raise_if_set()

    @torch.inference_mode()
    def _forward(self, segments: Sequence[Segment], asked: Wanted) -> Tensor:
        """Return the logits [places, vocabulary] after the tokens that are `asked` for."""
        if self._captured is not None:
            fed = [Fed(row, ids) for segment in segments for row, ids, _ in segment.each()]
            if all(map(self._captured.fits, fed)):
                self._check_interrupt()
                return self._captured.run(fed, asked.places)
        plan = self.slots.plan_pass(segments, asked.places, self._weights.dtype, self.device)
        ids = [token for segment in segments for row in segment.tokens for token in row]
        ids += [ids[-1]] * (len(plan.slot_mapping) - len(ids))
        return self._by_plan(torch.tensor([ids], device=self.device), plan)

    def _by_plan(self, ids: Tensor, plan: Plan) -> Tensor:
        self.slots.plan = plan
        logits: Tensor = self._weights(
            input_ids=ids,
            position_ids=plan.positions,
            attention_mask=self._no_mask,
            past_key_values=self.slots.cache,
            logits_to_keep=plan.behind,
            plan=plan,
        ).logits
        return logits[0]


def model_digest(weights: PreTrainedModel) -> bytes:
    """Digest every weight with its name and dtype, and the configuration. Reads all of the weights once."""
    config = weights.config.to_dict()
    config.pop("_name_or_path", None)
    digest = hashlib.blake2b(json.dumps(config, sort_keys=True, default=str).encode(), digest_size=32)
    for name, tensor in weights.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.digest()
