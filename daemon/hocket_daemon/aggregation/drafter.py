"""The part of a side in a session: it searches, reads, weighs and drafts. The session uses the drafts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from hocket_bus.errors import HocketError, Unavailable
from hocket_bus.messages import Begin, Passage, Passages, Side
from hocket_retrieval.text.heads import headed

from ..engine.preemption import Interrupt
from ..engine.runtime.compute import Decoded
from ..engine.runtime.drafts_of import drafts_of, room_of
from ..engine.runtime.grounded import Grounded
from ..engine.runtime.likelihood import NO_LIKELIHOODS
from ..engine.runtime.own_drafts import Own, OwnDraft
from ..engine.runtime.prompt_meter import PromptMeter
from ..engine.runtime.sequences import SequenceGroup, read
from ..engine.sampling.heads import Heads, Probabilities, contrast_of
from ..engine.sampling.step_rows import ALL, step_rows
from ..serving.disclosure import SessionDisclosure
from ..serving.search.follow_up import Found, search_text
from ..serving.search.gatherer import Find, nothing
from ..serving.search.passage_weights import LEAST, explained, weigh
from ..serving.search.retrieval import NO_PASSAGES
from ..serving.services import Services
from ..serving.session_account import SessionAccount
from ..serving.stream.prefix import PrefixChain
from .dialogue import Dialogue, Effects
from .exchange.session_terms import Confirmed, Law
from .weights.relevance import BY_LIKELIHOOD, REWEIGHED, compared, query, weighed_by

T = TypeVar("T")
Outcome: TypeAlias = "T | HocketError"
_SHORTER = "lower --max-tokens, or ask a shorter question"
NEARLY_READ = 0.99  # all passes are made, and what follows from them is not there yet
Scorer = Callable[[str, list[Passage], str, Callable[[list[float] | HocketError], None]], None]
log = structlog.get_logger(__name__)


def _done(_: object) -> None:
    """Handle the end of what has no result."""


class DraftingSession(Protocol):
    """The owner of the drafts: the leader of a session, or its follower."""

    @property
    def user(self) -> str:
        """The key of the user for whom this side works."""

    @property
    def within(self) -> Sequence[str]:
        """The folders in which alone this side searches; empty for all."""

    @property
    def rtt_s(self) -> float:
        """The round trip to the other side as it is now; 0 while none is known."""

    @property
    def max_lookahead(self) -> int:
        """The most steps that may be drafted ahead."""

    def on_found(self) -> None:
        """Handle the answer of the search; reading begins after this call."""

    def on_read(self) -> None:
        """Handle the end of reading the question; drafting begins after this call."""

    def on_static(self, reason: HocketError) -> None:
        """Handle the end of scoring: this side's passages are weighed by the question alone from here on."""

    def act(self, effects: Effects) -> None:
        """Carry out what an own draft led to, and have the next one drafted."""

    def fail(self, error: HocketError) -> None:
        """End this side's part, which cannot go on."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """The documents' weights within the side, 0 of those that weigh next to nothing, and the side's log h."""

    documents: list[float]
    log_h: float | None


class RelevanceWeights:
    """The weights of passages. Off: all are equal. Static: by the question. Dynamic: by the answer so far, too.

    Likelihood: dynamic, and at every step by how much of the question the passage explains, and what the answer led to.
    """

    def __init__(
        self,
        begin: Begin,
        found: Found,
        scorer: Scorer,
        decode: Callable[[list[int]], str],
        *,
        on_news: Callable[[], None],
        on_static: Callable[[HocketError], None],
        least: float = LEAST,
    ) -> None:
        """Weigh by the question; `scorer` asks for scores of passages against a text, by a named scorer, in order.

        `decode` turns an answer's steps into text; `on_news` is called when weights have come that may be waited for,
        `on_static` once where there will be no more: what is not weighed yet is weighed by the question alone.
        `least` is as `weigh` has it.
        """
        self._begin = begin
        self._found = found.passages
        self._scorer = scorer
        self._decode = decode
        self._on_news = on_news
        self._on_static = on_static
        self._least = least
        self._dynamic = begin.weights in REWEIGHED and bool(self._found.passages)
        self._scores = [0.0 if begin.weights == "off" else passage.score for passage in self._found.passages]
        self._likelihoods = NO_LIKELIHOODS
        self._static = self._weighing(self._scores)
        self._queries: dict[int, str] = {}  # by prefix
        self._question = found.text
        self._by_query: dict[str, Weighing | None] = {self._question: self._static}  # None: asked for

    def add_likelihoods(self, likelihoods: NDArray[np.float64]) -> None:
        """Add how likely each passage makes the question's tokens, before any step is weighed."""
        self._likelihoods = likelihoods
        self._static = self._weighing(self._scores)
        self._by_query[self._question] = self._static

    @property
    def static(self) -> Weighing:
        """The weights by the question alone."""
        return self._static

    def of(self, step: int, drafted: PrefixChain) -> Weighing | None:
        """Return the weights of `step` after `drafted`; None while they are being fetched."""
        if not self._dynamic:
            return self._static
        every, room = self._begin.reweigh_every, self._begin.sampling.max_tokens
        length = every * (len(drafted) // every)
        if length + every < room:  # otherwise there is no step left that it would weigh
            self._ask(self._query(length, drafted))
        return self._ask(self._query(weighed_by(step, every), drafted))

    def _query(self, length: int, drafted: PrefixChain) -> str:
        prefix = drafted.at(length)
        if prefix not in self._queries:
            self._queries[prefix] = query(self._question, self._decode(drafted.ids[:length]))
        return self._queries[prefix]

    def _ask(self, text: str) -> Weighing | None:
        if text not in self._by_query:
            self._by_query[text] = None
            found = self._found
            self._scorer(text, found.passages, found.scorer, lambda outcome: self._on_scores(text, outcome))
        return self._by_query[text]

    def _on_scores(self, text: str, outcome: list[float] | HocketError) -> None:
        if isinstance(outcome, HocketError):
            if self._dynamic:
                self._dynamic = False
                self._on_static(outcome)
        else:
            self._by_query[text] = self._weighing(compared(self._begin.weights, outcome, self._scores))
        self._on_news()

    def _weighing(self, scores: list[float]) -> Weighing:
        return Weighing(*weigh(scores, self._begin.relevance_temperature, self._likelihoods, least=self._least))


@dataclass(slots=True, eq=False)
class _Decoding:
    """The draft under way, and the decode step that it waits for."""

    step: int
    prefix: int
    weighing: Weighing
    draft: OwnDraft
    interrupt: Interrupt = field(default_factory=Interrupt)
    passes: int = 0
    seconds: float = 0.0

    def stale(self, drafted: PrefixChain) -> bool:
        """Tell whether the tokens it is conditioned on no longer hold."""
        return len(drafted) != self.step or drafted.digest != self.prefix


class Drafter:
    """A drafter that searches, reads and then drafts for as long as the dialogue has a step to draft."""

    def __init__(
        self,
        services: Services,
        begin: Begin,
        session: DraftingSession,
        dialogue: Dialogue,
        *,
        side: Side,
        find: Find | None = None,
        disclosure: SessionDisclosure | None = None,
        account: SessionAccount | None = None,
    ) -> None:
        """Create it; `side` is the "cloud" where another side leads. `find` looks for passages instead of a search.

        `disclosure` bounds what drafts tell of the passages, `account` counts what words of the answer do. Both compare
        with what would be said without each of them, so then all rows are decoded, whatever they weigh.
        """
        self.begin = begin
        self.dialogue = dialogue
        self._side = side
        self._disclosure, self.account = disclosure, account
        self._compares = disclosure is not None or account is not None
        self.closed = False
        self.retrieval_s = 0.0
        self.prefill_s = 0.0
        self.drafts = 0
        self.prompt_tokens = 0  # that were read, in all rows
        self.passages: Passages | None = None
        self.weights: RelevanceWeights | None = None
        self._services = services
        self._session = session
        self._lookups = services.retrieval.lookups(session.user)
        self._find = find
        self._stop_finding: Callable[[], None] = nothing
        self._meter = PromptMeter()
        self._grounded = Grounded(services.compute, self._meter.add)
        self._decoding: _Decoding | None = None
        mass, ends = begin.wire_mass, bool(begin.eos)
        grammar = services.grammars.of(begin.sampling.grammar)
        self._drafts = drafts_of(
            services.model, begin.unit, begin.sampling, mass=mass, ends=ends, account=account, grammar=grammar
        )

    @property
    def text(self) -> Callable[[list[int]], str]:
        """The function that turns steps of the answer into text."""
        return self._drafts.text

    @property
    def tokens(self) -> Callable[[Sequence[int]], list[int]]:
        """The function that turns steps of the answer into this side's own tokens."""
        return self._drafts.tokens

    @property
    def found(self) -> list[Passage]:
        """The passages; none before the search has answered."""
        return self.passages.passages if self.passages is not None else []

    @property
    def documents(self) -> int:
        """Passages found; 0 before the search has answered."""
        return len(self.found)

    @property
    def has_read(self) -> bool:
        """Tell whether the question and the passages are read."""
        return self._grounded.has_read

    @property
    def progress(self) -> tuple[float, float]:
        """The part of the prompt that is read, in [0, 1], and the seconds that the rest takes, 0 where unknown."""
        if self.has_read:
            return 1.0, 0.0
        return min(NEARLY_READ, self._meter.read), self._meter.left_s(self._services.compute.prompt_token_s)

    @property
    def is_busy(self) -> bool:
        """Tell whether it searches, reads or decodes, so that the other side may have to wait for a while."""
        return not self.closed and (not self.has_read or self._decoding is not None)

    def start(self) -> None:
        """Begin with the search; everything else follows from its answer."""
        begin = self.begin
        self._services.compute.run(self._drafts.prepare, _done)  # before the prompt is read
        if begin.documents == 0:
            self._on_passages(NO_PASSAGES)
        elif self._find is not None:
            self._stop_finding = self._find(self._on_passages)
        else:
            within, words = self._session.within, self._services.reading.words
            k, scorer = begin.documents, begin.scorer
            self._lookups.find(
                begin.prompt,
                k,
                self._on_found,
                scorer=scorer,
                within=within,
                words=words,
                bridge=begin.bridge,
                steps=1 if self._compares else 2,  # what a row tells is charged to one document
            )

    def close(self) -> None:
        """Free the rows, after whatever the compute thread still does with them."""
        if not self.closed:
            self._services.counters.add("rollbacks_total", self.dialogue.exchange.rollbacks)
            self._services.counters.add("corrections_total", self.dialogue.exchange.corrections)
        self.closed = True
        self._lookups.close()
        self._stop_finding()
        self._grounded.close()
        if self.account is not None:
            self.account.close()

    def settle(self, confirmed: Sequence[Confirmed]) -> None:
        """Settle what words of the answer were charged, before any of them leaves."""
        if self.account is not None:
            for step in confirmed:
                self.account.confirm(step.step, own=self.dialogue.exchange.traces[step.step].part > 0)

    def count(self, confirmed: Sequence[Confirmed]) -> None:
        """Count tokens of the answer in the daemon's metrics, as its side sees them."""
        for step in confirmed:
            if self._disclosure is not None:
                self._disclosure.confirm(step.step, step.token)
            sides = (step.own, step.remote) if self._side == "device" else (step.remote, step.own)
            self._services.counters.token(step.source, device=sides[0], cloud=sides[1])

    def draft_next(self) -> None:
        """Decode the next step, unless one is being decoded or there is none; interrupt one that went stale."""
        exchange = self.dialogue.exchange
        step = exchange.next_step()
        if self._decoding is not None and self._decoding.stale(exchange.drafted):
            self._decoding.interrupt.set()
            self._decoding = None
        if not self.has_read or self.weights is None or self._decoding is not None or self.closed or step is None:
            return
        weighing = self.weights.of(step, exchange.drafted)
        if weighing is not None:
            self._draft(step, weighing)

    def _draft(self, step: int, weighing: Weighing) -> None:
        drafted = self.dialogue.exchange.drafted
        draft = self._drafts.begin(drafted.ids)
        if self._has_room(len(draft.ids)):
            self._decoding = _Decoding(step, drafted.digest, weighing, draft)
            self._decode(self._decoding)

    def _has_room(self, tokens: int) -> bool:
        """Tell whether so many own tokens fit behind the prompt; fail where the answer itself does not."""
        fits, exchange = tokens < self._room, self.dialogue.exchange
        if not fits and len(exchange.drafted) == len(exchange.confirmed):
            self._session.fail(Unavailable("the answer has more tokens here than there is room for", _SHORTER))
        return fits

    def _decode(self, decoding: _Decoding) -> None:
        """Have the model decode once more for a draft, unless what follows is known already."""
        begin, draft, weights, mass = self.begin, decoding.draft, decoding.weighing.documents, self.begin.wire_mass
        ends = begin.eos and self._services.model.eos
        contrast = contrast_of(begin.contrast, ends, self.documents, len(draft.ids))
        disclosure, documents = self._disclosure, [passage.document for passage in self.found]
        rows = ALL
        if not self._compares:
            rows = step_rows(weights, contrast, one_by_one=self._services.model.rows_cost)

        def then(heads: Heads) -> Own | None:
            if disclosure is None:
                return draft.add(heads, weights, contrast)
            return disclosure.made(decoding.step, heads, weights, documents, wire_mass=mass, contrast=contrast)

        def done(outcome: Decoded[Own | None] | HocketError, seconds: float) -> None:
            self._on_decoded(decoding, outcome, seconds)

        known = draft.known(rows.places or ())
        if known is None:
            decoding.interrupt = self._grounded.decode(draft.ids, then, done, rows=rows)
        else:
            self._services.compute.run(partial(then, known), lambda own: self._on_known(decoding, own))

    def _on_passages(self, outcome: Outcome[Passages]) -> None:
        text = search_text(self.begin.prompt)
        self._on_found(outcome if isinstance(outcome, HocketError) else Found(text, outcome))

    def _on_found(self, outcome: Outcome[Found]) -> None:
        if self.closed:
            return
        if isinstance(outcome, HocketError):
            self._session.fail(outcome)
            return
        if self.account is not None:
            outcome = outcome._replace(passages=self.account.without_exhausted(outcome.passages))
        self.passages = outcome.passages
        self.retrieval_s = self.passages.seconds
        self.weights = RelevanceWeights(
            self.begin,
            outcome,
            self._lookups.score,
            self._drafts.text,
            on_news=self.draft_next,
            on_static=self._on_static,
            least=0.0 if self._compares else LEAST,
        )
        self._session.on_found()
        if not self.closed:
            self._prefill(list(map(headed, self.found)))

    def _on_static(self, reason: HocketError) -> None:
        log.warning("weighed by the question alone from here on", reason=str(reason))
        self._session.on_static(reason)

    def _prefill(self, texts: list[str]) -> None:
        begin, started_s = self.begin, time.monotonic()
        prefill = read(
            self._services.model,
            self._services.reading.prompt(self._services.readable(begin.prompt), texts),
            texts,
            task=begin.task,
            room=self._room,
            likelihood=begin.weights in BY_LIKELIHOOD and bool(texts),
            alone=bool(begin.contrast) or self._compares,
            session=begin.session,
            expect=self._meter.expect,
        )

        def done(outcome: Outcome[SequenceGroup]) -> None:
            self._on_prefilled(outcome, time.monotonic() - started_s)

        self._grounded.read(prefill, done)

    def _on_prefilled(self, outcome: Outcome[SequenceGroup], seconds: float) -> None:
        if isinstance(outcome, HocketError):
            self._session.fail(outcome)
            return
        self.prefill_s, self.prompt_tokens = seconds, sum(map(len, outcome.prompts))
        assert self.weights is not None
        if len(outcome.likelihoods):
            self.weights.add_likelihoods(outcome.likelihoods)
            self.dialogue.add_likelihoods(explained(outcome.likelihoods))
        self._session.on_read()
        self.draft_next()

    def _on_known(self, decoding: _Decoding, own: Outcome[Own | None]) -> None:
        if decoding is self._decoding and not self.closed:
            self._on_decoded(decoding, own if isinstance(own, HocketError) else Decoded(own, 0, -1), 0.0)

    @property
    def _room(self) -> int:
        """The own tokens that an answer may have."""
        return room_of(self.begin.unit, self.begin.sampling)

    def _on_decoded(self, decoding: _Decoding, outcome: Outcome[Decoded[Own | None]], seconds: float) -> None:
        current = decoding is self._decoding
        if self.closed:
            return
        if isinstance(outcome, HocketError):
            self._session.fail(outcome)
            return
        decoding.seconds += seconds
        decoding.passes += outcome.rows > 0  # what was known has taken none
        if outcome.value is None:
            if current and not self._concedes(decoding):
                self._decode(decoding)
            return
        if current:
            self._decoding = None
        self._on_own(decoding, outcome.value.distribution, outcome.value.parts)
        # The first distribution was there when the question was read, and others are no plain step of a token.
        if decoding.step > 0 and outcome.repeated == 0 and not self.closed:
            self._pace(outcome.rows, seconds)

    def _concedes(self, decoding: _Decoding) -> bool:
        """Propose the beginning of a word that cannot be the target any more, so that nobody waits for its end.

        Between two passes alone: a pass changes it.
        """
        bound, exchange = decoding.draft.bound, self.dialogue.exchange
        at, log_h = (decoding.step, decoding.prefix), decoding.weighing.log_h
        if bound is None or not exchange.concedes(*at, bound, log_h):
            return False
        self._decoding = None
        self._on_own(decoding, bound, None)
        return True

    def _on_own(self, decoding: _Decoding, law: Law, parts: Probabilities | None) -> None:
        self.drafts += 1
        self._drafts.count(decoding.passes)
        # Acted on before anything is counted, since the other side waits for it.
        seconds, log_h = decoding.seconds, decoding.weighing.log_h
        effects = self.dialogue.own(decoding.step, decoding.prefix, law, log_h, seconds, parts=parts)
        self._session.act(effects)
        self._services.counters.drafted(seconds if decoding.step > 0 else None)

    def _pace(self, rows: int, seconds: float) -> None:
        """Learn from a step's time, and begin the next step if the window has grown."""
        expected_s = self._services.profiler.observe(rows, self._grounded.length, seconds)
        draft_s = expected_s * self._drafts.passes
        self.dialogue.exchange.pace(self._session.rtt_s, draft_s, self._session.max_lookahead)
        self.draft_next()
