"""A dispatched question's leader and follower joined by fake peers, driven in any order; and whose every token is."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from types import ModuleType

from fakes import ID, FakePeer, Part, Reader, part
from two_sides import QUESTION, SETTINGS, TEXTS, Clock, Sides, distribution

from hocket_bus.messages import Ask, DispatchOptions, Message, Prompt, Sampling, Target
from hocket_daemon.dispatch import booking, leader, mode
from hocket_daemon.dispatch.leader import Leader
from hocket_daemon.dispatch.mode import DispatchMode, SharedSettings
from hocket_daemon.dispatch.settings import DispatchSettings
from hocket_daemon.dispatch.writers import local_writer
from hocket_daemon.engine.sampling.drawing import Rule, sample
from hocket_daemon.serving.sessions import following
from hocket_daemon.serving.stream import reply
from hocket_lab.rehearsal.script import scripted

CLOCKED: tuple[ModuleType, ...] = (following, leader, local_writer, mode, reply)
MINIMUM = 0.5
PLAIN = DispatchSettings(migration="off", budget=1.0)
assert booking  # which is told the time


def ask(*, max_tokens: int = 12, seed: int = 5, **other: object) -> Ask:
    """A question; `other` are fields of the Ask, or of its options."""
    flags = {name: other.pop(name) for name in ("alone", "pace", "to") if name in other}
    options = DispatchOptions(**flags)  # type: ignore[arg-type]
    sampling = Sampling(temperature=1.0, top_p=0.95, seed=seed, max_tokens=max_tokens)
    prompt = Prompt(query=other.pop("question", QUESTION), turns=other.pop("turns", []))  # type: ignore[arg-type]
    fields = {"ignore_eos": True} | other
    return Ask(request=ID, topic=ID, prompt=prompt, mode="dispatch", options=options, sampling=sampling, **fields)  # type: ignore[arg-type]


def similar() -> dict[str, Part]:
    """Two sides with one model and one set of documents."""
    return {"device": part("device", TEXTS["device"], seed=1), "cloud": part("cloud", TEXTS["device"], seed=1)}


@dataclass
class DispatchSides(Sides):
    """Both sides of a dispatched question."""

    asked: Ask
    clock: Clock
    settings: DispatchSettings = PLAIN
    trusts: bool = False  # needed by a script that gives an answer back, and then so
    script: str = ""
    contrast: float = 0.0
    order: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.modes = [self._mode(side) for side in (self.device, self.cloud)]
        self.reader, self.to_cloud, self.to_device = Reader(), FakePeer(up=self.up), FakePeer("the device")

    def _mode(self, side: Part) -> DispatchMode:
        trusts = self.trusts or bool(self.script)
        weighing = SharedSettings(
            SETTINGS.relevance_temperature, SETTINGS.wire_mass, MINIMUM, self.contrast, trusts=trusts
        )
        return DispatchMode(side.services, self.settings, weighing, scripted(lambda: self.script))

    @property
    def dispatcher(self):
        return self.modes[0]._dispatcher

    def begin(self) -> Leader:
        self.leader = super().begin()
        return self.leader

    def again(self, asked: Ask) -> None:
        """Another question, of the same modes."""
        self.asked, self.reader = asked, Reader()
        self.said.clear()
        self.begin()

    def run_while(self, running: object) -> None:
        """Until the callable says no."""
        while running() and not self.leader.closed:  # type: ignore[operator]
            if not self.step():
                self.wait()

    def check_tokens(self) -> list[str]:
        """Every token is what its side says behind all before it, and all are told once; whose they are."""
        done, tokens = self.reader.done, self.reader.tokens
        ids = done.token_ids
        assert [token.id for token in tokens] == ids
        assert [token.step for token in tokens] == list(range(len(ids)))
        assert done.text == "".join(token.text for token in tokens)
        for token in tokens:
            assert token.source in ("device", "cloud")
            assert token.id == self.next_token(token.source, ids[: token.step])
        sources = [token.source for token in tokens]
        outcome = done.dispatch
        assert (outcome.device_tokens, outcome.cloud_tokens) == (sources.count("device"), sources.count("cloud"))
        return sources

    def next_token(self, side: str, ids: list[int]) -> int:
        """What a side says behind `ids`."""
        own = self.device if side == "device" else self.cloud
        sampling = self.asked.sampling
        rule = Rule(sampling.seed, sampling.temperature, sampling.top_p)
        return sample(rule, len(ids), distribution(own, self.asked, "static likelihood", ids)[0])

    def text_of(self, side: str) -> list[int]:
        """All that a side would write alone."""
        ids: list[int] = []
        while len(ids) < self.asked.sampling.max_tokens:
            ids.append(self.next_token(side, ids))
        return ids


def target(message: Message) -> bool:
    """Whether it carries tokens of the answer."""
    return isinstance(message, Target)
