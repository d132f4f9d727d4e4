"""The parts of a daemon that its sessions may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Prompt, Side, Unit

from ..engine.generators.generator import TextGenerator
from ..engine.language_model import LanguageModel
from ..engine.reading import Reading
from ..engine.runtime.compute import Compute
from ..engine.runtime.grammar import Grammars
from ..engine.text.words import LAW
from ..monitoring.counters import Counters
from ..privacy.disclosure_account import DisclosureAccount
from ..privacy.history import History
from ..profiling.profiler import Profiler
from .admission import Admission
from .first_tokens import FirstTokens
from .search.gatherer import MAX_NOTICES, Gathered, Gatherer
from .search.retrieval import RetrievalClient
from .stream.targets import ANOTHER_TOKENIZER

NO_GRAMMAR = "model is a server, which returns text alone and cannot be held to a grammar"


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one side. All methods are called on the main thread, and call back there."""

    side: Side
    model: LanguageModel
    compute: Compute
    retrieval: RetrievalClient
    profiler: Profiler
    counters: Counters
    admission: Admission
    reading: Reading
    server: TextGenerator | None = None  # of text, instead of the other side
    reader: TextGenerator | None = None  # the server that is this side's model, and reads its passages
    aggregates: bool = True  # its model tells distributions
    first_tokens: FirstTokens = field(default_factory=FirstTokens)
    shares_drafts: bool = True  # this side's distributions may leave it
    account: DisclosureAccount | None = None  # of its words' bits, where nothing else of its drafts may leave
    shares_bridges: bool = False  # names that it found may leave it
    rewrites: bool = False  # a question that refers to others before it is written again by its model
    history: History = field(default_factory=History)  # which turns were read elsewhere
    gatherer: Gatherer | None = None  # of others' passages
    fallback_notice: str = ""  # what readers are told of a model that nobody chose
    grammars: Grammars = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grammars", Grammars(self.model))

    def notices(self, gathered: Gathered | None) -> list[str]:
        """Return what the other side's reader should know of this side's part."""
        return [*filter(None, [self.fallback_notice]), *(gathered.notices if gathered else [])][:MAX_NOTICES]

    @property
    def words(self) -> str:
        """The fingerprint of the law by which this side's model writes words; empty where it cannot."""
        return LAW if self.aggregates and self.model.writes_words else ""

    def check_unit(self, unit: Unit, tokenizer: str) -> None:
        """Raise Unavailable where this side's model cannot take steps of `unit`, as a side with `tokenizer` means them.

        Where that is empty the tokens are those that both have said in Hello.
        """
        if unit == "token" and tokenizer not in ("", self.model.fingerprint):
            raise Unavailable(*ANOTHER_TOKENIZER)
        if unit == "word" and not self.words:
            what = "this side's tokenizer is not byte-level BPE, so it can write no words"
            raise Unavailable(what, ANOTHER_TOKENIZER[1])

    @property
    def reads_here(self) -> bool:
        """Tell whether what this side's model reads stays on this machine."""
        return self.reader is None or self.reader.is_here

    def readable(self, prompt: Prompt) -> Prompt:
        """Return the part of a prompt that this side's model may read: all of it if the model runs here."""
        return prompt if self.reader is None else self.history.shareable(prompt, self.reader.place)

    def passages(self, asked: int | None) -> int:
        """Return how many passages are read for a question of this side, which may set the number itself."""
        return self.reading.passages if asked is None else asked
