"""A model that a server runs: its tokenizer is here, which numbers the server's text, and nothing that computes.

Knows no server: the text comes from a generator. Whoever asks it for distributions is told what to do instead.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hocket_bus.errors import BadConfiguration, BadRequest

from ...language_model import DocumentStore, Shape
from ...preemption import Interrupt
from ...sampling.heads import Heads
from ...segments import Segment
from ...settings import PREFILL_TOKENS, ModelSettings
from ...text.file_tokenizer import FileTokenizer
from ...text.tokenizer import Prefix, Worded, fingerprint_of, size_of
from ..rows import RowMemory

NO_DISTRIBUTIONS = BadRequest("this side's model is a server that returns no probabilities", "ask with --mode dispatch")


class RemoteModel(Worded):
    """A LanguageModel that gives text alone, and no distributions."""

    precision, why = "set by the server", ""
    prefill_tokens = PREFILL_TOKENS
    reads_ahead = rows_cost = False
    stored: DocumentStore | None = None

    def __init__(self, settings: ModelSettings, folder: Path, name: str, place: str) -> None:
        """Load the tokenizer in `folder`; the server at `place` calls the model `name`. Raises BadConfiguration."""
        tokenizer = _tokenizer(folder, settings.name)
        super().__init__(tokenizer)
        self.name, self.compute = name, place
        numbers = tokenizer.get_vocab()
        self.fingerprint, self.vocabulary = fingerprint_of(numbers), size_of(numbers, str(folder))
        self.eos = _ends(folder, tokenizer)
        self.shape = Shape(0, 0, 1, 0, 0)  # its tokens cost this machine nothing
        self.slots = RowMemory(settings.slots, settings.context)

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:  # noqa: ARG002
        """Raise BadRequest: the server gives no distributions."""
        raise NO_DISTRIBUTIONS

    def close(self) -> None:
        """Do nothing: there is nothing to end."""

    def restore(self, row: int, prefix: Prefix, length: int) -> bool:  # noqa: ARG002
        """Return False: nothing is stored."""
        return False

    def keep(self, row: int, prefix: Prefix) -> None:
        """Do nothing: nothing is stored."""

    def keep_ahead(self, row: int, prefix: Prefix) -> bool:  # noqa: ARG002
        """Return False: nothing is stored."""
        return False


def _tokenizer(folder: Path, name: str) -> FileTokenizer:
    try:
        return FileTokenizer(folder)
    except (OSError, ValueError) as error:
        raise BadConfiguration(
            f"[model] name is '{name}', whose tokenizer is not on this machine",
            f"run: hocket model get {name}; or name a folder with tokenizer.json and tokenizer_config.json",
        ) from error


def _ends(folder: Path, tokenizer: FileTokenizer) -> list[int]:
    """The ids that end an answer, as other engines read them from the same folder."""
    file = folder / "generation_config.json"
    listed = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id") if file.exists() else None
    own = tokenizer.get_vocab().get(tokenizer.special_tokens_map.get("eos_token", ""))
    return sorted(
        {int(each) for each in [*(listed if isinstance(listed, list) else [listed]), own] if each is not None}
    )
