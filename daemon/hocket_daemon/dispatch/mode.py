"""DiSCo: whichever side is faster or cheaper writes, under a budget, and a running answer moves between them."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hocket_bus.errors import BadRequest, HocketError, Unavailable
from hocket_bus.faults import refused
from hocket_bus.messages import (
    Ask,
    Dispatch,
    DispatchOptions,
    End,
    Hold,
    Message,
    Reasoning,
    Refused,
    Sources,
    Target,
    Task,
    Unit,
    WriterStatus,
)

from ..engine.generators.generator import TextRequest
from ..privacy.history import CLOUD
from ..serving.mode import Peer
from ..serving.services import NO_GRAMMAR, Services
from ..serving.stream.prefix import PrefixChain
from ..serving.stream.reply import Reply
from ..serving.stream.targets import ANOTHER_TOKENIZER, targets_of
from .booking import today
from .follower import Follower
from .leader import Leader
from .policies.account import Account
from .policies.account_file import AccountFile
from .policies.cost import costs_of
from .policies.device_ttft import DeviceTtft
from .policies.dispatcher import Dispatcher
from .policies.profile import Lengths, ServerProfile
from .settings import DispatchSettings, check
from .strategy import DISCO, Strategy
from .terms import Begins, Terms, options_of
from .writers.own_writer import rows_needed
from .writers.remote_writer import RemoteWriter
from .writers.server_writer import ServerWriter
from .writers.writers import CloudWriter, WritingSession

LATEST = 32  # prompts of the cloud's, by which the next one's length is bounded
TYPICAL_TOKENS = 256  # of a prompt and its answer, around which a token's FLOPs are counted


@dataclass(frozen=True, slots=True)
class SharedSettings:
    """The values of [aggregation] that hold here, too: τ of passages, the mass of a distribution to draw from, …"""

    temperature: float
    wire_mass: float
    min_evidence: float
    contrast: float
    trusts: bool


class DispatchMode:
    """The mode that opens both sides' sessions, and holds what they share: account, profiles and policy."""

    name = "dispatch"
    opens: tuple[type[Message], ...] = (Dispatch,)
    takes: tuple[type[Message], ...] = (Target, Hold)
    answers: tuple[type[Message], ...] = (Target, WriterStatus, Reasoning, Refused, Sources)
    ends: tuple[type[Message], ...] = (End,)

    def __init__(
        self, services: Services, settings: DispatchSettings, weighing: SharedSettings, strategy: Strategy = DISCO
    ) -> None:
        """Create the mode. Raises BadConfiguration."""
        check(settings)
        self._strategy = strategy
        self._services = services
        self._settings = settings
        self._weighing = weighing
        self._cloud_prompts: deque[int] = deque(maxlen=LATEST)
        self._reported: tuple[float, ...] = ()
        self._account = Account(settings.budget, settings.burst_tokens, settings.max_per_day)
        self._file = AccountFile(Path(settings.account) if settings.account else None)
        self._file.read_into(self._account)
        self._dispatcher = Dispatcher(
            settings,
            costs_of(settings, services.model.shape, TYPICAL_TOKENS, services.profiler.energy),
            self._account,
            server_profile=ServerProfile(),
            device_ttft=_device_ttft(services),
            lengths=Lengths(),
        )
        self._own = ServerProfile()  # of this side's first tokens, to be told to devices

    def facts(self) -> dict[str, str]:
        """Return what was spent beside what may be; nothing on a cloud, whose devices decide."""
        account, dispatcher = self._account, self._dispatcher
        if self._services.side == "cloud":
            return {}
        found = account.facts(today())
        limit = f" of ${account.max_per_day:g}" if account.max_per_day else ""
        return {
            "dispatch": (
                f"{found['share']:.0%} of all prompt tokens on the {dispatcher.constrained}, whose budget is "
                f"{account.budget:.0%} and {account.burst_tokens:g} tokens; ${found['money_today']:.4g} today{limit}"
            )
        }

    def metrics(self) -> dict[str, float]:
        """Return the same figures for programs."""
        if self._services.side == "cloud":
            return {}
        found = self._account.facts(today())
        return {
            "dispatch_budget": found["budget"],
            "dispatch_prompt_tokens_total": found["all_tokens"],
            "dispatch_spent_tokens_total": found["spent_tokens"],
            "dispatch_dollars_total": found["money"],
            "dispatch_dollars_today": found["money_today"],
        }

    def check(self, ask: Ask) -> None:
        """Raise BadRequest for what cannot be asked."""
        if not isinstance(ask.options, DispatchOptions | None):
            raise BadRequest(f"these options do not apply to mode {self.name}", "leave them out")
        if options_of(ask).alone and options_of(ask).to in ("cloud", "server"):
            raise BadRequest(f"alone and to {options_of(ask).to} exclude each other", "choose one")
        if ask.sampling.grammar and (self._services.reader is not None or options_of(ask).to == "server"):
            raise BadRequest(f"the {NO_GRAMMAR}", "leave out the grammar or the schema, or ask another side")

    def rows(self, ask: Ask) -> int:
        """Count the rows of a question: one for each passage, and one for itself where passages are set against it."""
        return rows_needed(self._services, self._services.passages(ask.documents), self._contrast(ask.task))

    def begin(self, ask: Ask, reply: Reply, peer: Peer | None, *, begins: Begins = "race") -> Leader:
        """Lead a session; where the cloud is to begin, it may read other devices' passages, too."""
        options = options_of(ask)
        unit = self._unit(ask, peer, begins)
        opening = self._opening(ask, unit, escalates=begins == "cloud")
        if options.to in ("cloud", "server"):
            begins = "cloud"
        terms = Terms(
            dispatcher=self._dispatcher,
            migration=self._settings.migration if begins == "race" else "off",
            pace=options.pace or self._settings.pace,
            opening=opening,
            begins=begins,
            min_evidence=self._weighing.min_evidence,
            trusts=self._weighing.trusts,
            cloud=self._cloud(ask, peer, opening, begins),
            cloud_prompts=self._cloud_prompts,
            booked=lambda: self._file.write(self._account),
        )
        leader = Leader(self._services, reply, terms, self._strategy)
        leader.start()
        return leader

    def rows_of(self, opening: Message) -> int:
        """Count the rows of a device's session, as `rows` does for a question."""
        dispatch = _dispatch(opening)
        return rows_needed(self._services, dispatch.documents, dispatch.contrast)

    def accept(self, opening: Message, peer: Peer) -> Follower:
        """Accept a device's session, in which this side reads and writes. Raises Unavailable where models differ."""
        dispatch, began_s = _dispatch(opening), time.monotonic()
        self._services.check_unit(dispatch.unit, dispatch.tokenizer)
        if dispatch.unit == "word" and not self._writes_words:
            raise Unavailable(*ANOTHER_TOKENIZER)
        if dispatch.sampling.grammar and self._services.reader is not None:
            raise Unavailable(f"the {NO_GRAMMAR}")

        def on_first() -> None:
            self._own.observe(time.monotonic() - began_s)
            self._services.first_tokens.quantiles_s = self._own.quantiles()

        follower = Follower(self._services, dispatch, peer, on_first)
        follower.start()
        return follower

    def refusal(self, opening: Message, error: HocketError) -> Message:
        """Return the message that this side cannot take part."""
        dispatch = _dispatch(opening)
        return refused(error, dispatch.session, dispatch.epoch)

    def _cloud(
        self, ask: Ask, peer: Peer | None, opening: Dispatch, begins: Begins
    ) -> Callable[[PrefixChain, WritingSession], CloudWriter] | None:
        """The server where one is configured, or else the cloud daemon, which alone takes part in other modes.

        Raises BadRequest where the one that is asked for is not there.
        """
        server, model, options = self._services.server, self._services.model, options_of(ask)
        if options.alone or options.to == "device":
            return None
        if options.to == "server" and server is None:
            raise BadRequest("this side has no server configured", "set [server], or ask the cloud")
        if options.to == "cloud" and peer is None:
            raise BadRequest("this side has no cloud configured", "set cloud in its configuration, or ask the device")
        if server is not None and self._by_server(ask, begins):
            told = self._services.history.shareable(ask.prompt, server.place)
            request = TextRequest(
                told.query,
                ask.sampling,
                ask.task,
                tuple(ask.stop),
                session=opening.session,
                turns=tuple(told.turns),
                system=told.system,
                thinks=ask.task == "answer",
            )
            return lambda chain, session: ServerWriter(server, model, request, chain, session)
        if peer is None:
            return None
        self._learn(peer)
        shared = msgspec.structs.replace(opening, prompt=self._services.history.shareable(opening.prompt, CLOUD))
        targets = targets_of(opening.unit, model.vocabulary)
        return lambda chain, session: RemoteWriter(peer, shared, chain, session, targets)

    def _learn(self, peer: Peer) -> None:
        """Take over what the cloud reports of its first tokens, so that the first question has a profile."""
        reported = tuple(peer.first_tokens_s)
        if reported != self._reported:
            self._reported = reported
            self._dispatcher.server_profile.seed([each + peer.rtt_s for each in reported])

    def _unit(self, ask: Ask, peer: Peer | None, begins: Begins) -> Unit:
        """Return what a step is: a word with a cloud that has another tokenizer, unless a server takes its part."""
        own = self._services.model.fingerprint
        same = peer is None or peer.tokenizer in ("", own)
        return "word" if not same and self._writes_words and not self._by_server(ask, begins) else "token"

    @property
    def _writes_words(self) -> bool:
        """Tell whether this side's writer can draw words: a server that is its model writes text."""
        return bool(self._services.words) and self._services.reader is None

    def _by_server(self, ask: Ask, begins: Begins) -> bool:
        """Tell whether a server takes the cloud's part in a question."""
        to = options_of(ask).to
        races = begins == "race" and not to and not ask.sampling.grammar  # a server obeys none
        return self._services.server is not None and (to == "server" or races)

    def _opening(self, ask: Ask, unit: Unit, *, escalates: bool) -> Dispatch:
        return Dispatch(
            session=os.urandom(16),
            epoch=0,
            prompt=ask.prompt,
            task=ask.task,
            sampling=ask.sampling,
            documents=self._services.passages(ask.documents),
            eos=[] if ask.ignore_eos else self._services.model.eos,
            relevance_temperature=self._weighing.temperature,
            wire_mass=self._weighing.wire_mass,
            writer="cloud",
            escalates=escalates,
            contrast=self._contrast(ask.task),
            tokenizer=self._services.model.fingerprint,
            unit=unit,
        )

    def _contrast(self, task: Task) -> float:
        return self._weighing.contrast if task == "answer" else 0.0


def _device_ttft(services: Services) -> DeviceTtft:
    """Return the device's line as the offline profile has it, or a guess."""
    fitted = services.profiler.prefill
    return DeviceTtft(fitted.k, fitted.c) if fitted is not None else DeviceTtft()


def _dispatch(opening: Message) -> Dispatch:
    assert isinstance(opening, Dispatch)
    return opening
