"""The order of work on the compute thread: nobody decodes less often than others, and prompts starve nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
import pytest

from hocket_bus.errors import HocketError
from hocket_daemon.engine.preemption import Interrupt, Preempted
from hocket_daemon.engine.runtime import compute
from hocket_daemon.engine.runtime.compute import MANY, Decoded, DecodeRequest
from hocket_daemon.engine.runtime.sequences import Prefill
from hocket_daemon.engine.sampling.heads import Heads
from hocket_daemon.engine.segments import Segment
from hocket_lab.rehearsal.held import HeldCompute
from waiting import WAIT_S

SESSIONS, REQUESTS, PARTS = 3, 8, 5


class World:
    """A main thread that runs what is posted, and a model that writes down what it was asked for."""

    def __init__(self, hold_s: float = 0.0) -> None:
        self.log: list[str] = []
        self.inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.compute = HeldCompute(self.post, self.read, hold_s)

    def post(self, *commands: Callable[[], None]) -> None:
        for command in commands:
            self.inbox.put(command)

    def read(self, segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        """The stand-in for a forward pass: writes down whom it is for."""
        interrupt.raise_if_set()
        self.log.append("".join(sorted(name for segment in segments for name in segment.tokens)))  # type: ignore[misc]
        return [Heads(np.ones((len(segment.rows), 1), np.float32)) for segment in segments]

    def until(self, done: Callable[[], bool]) -> None:
        while not done():
            self.inbox.get(timeout=WAIT_S)()

    def request(self, name: str, interrupt: Interrupt | None = None) -> DecodeRequest[str]:
        return DecodeRequest(Session(name), [], lambda _: name, interrupt or Interrupt())  # type: ignore[arg-type]


@dataclass(frozen=True)
class Session:
    """Stands in for a sequence group of one row."""

    name: str
    rows: tuple[int] = (0,)
    repeated: int = 0

    def segment(self, _: list[int], pass_tokens: int, places: object) -> Segment:
        return Segment([0], [self.name])  # type: ignore[list-item]

    def take(self, _: list[int], read: Heads) -> Heads:
        return read


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.compute.close()


def prompt(name: str) -> Prefill[str]:
    for at in range(PARTS):
        rows = yield Segment([0], [f"{name}{at}"])  # type: ignore[list-item]
        assert rows.probabilities.shape == (1, 1)
    return name


def test_every_session_decodes_in_every_pass_and_the_oldest_prompt_goes_on_in_it(world: World) -> None:
    """The stated rule: one pass for one request of every session that waits and one part of the oldest prompt."""
    left = dict.fromkeys("abc", REQUESTS)
    ended: list[str] = []

    def again(name: str) -> Callable[[object], None]:
        def done(outcome: object) -> None:
            assert outcome == Decoded(name, SESSIONS)
            left[name] -= 1
            if left[name]:
                world.compute.decode(world.request(name), done)

        return done

    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)  # until everything is asked for
    for name in left:
        world.compute.decode(world.request(name), again(name))
    for name in ("X", "Y"):
        world.compute.prefill(prompt(name), Interrupt(), ended.append)
    assert world.compute.waiting == SESSIONS + 2
    hold.set()
    world.until(lambda: not any(left.values()) and len(ended) == 2)

    parts = [f"{name}{at}" for name in "XY" for at in range(PARTS)]
    assert world.log == [f"{part}abc" for part in parts[:REQUESTS]] + parts[REQUESTS:]
    assert ended == ["X", "Y"]
    assert (world.compute.batches, world.compute.requests) == (REQUESTS, REQUESTS * SESSIONS)


def test_a_request_that_fails_behind_the_pass_fails_alone(world: World) -> None:
    """What a session makes of its rows is its own; the others of the same pass get theirs."""
    outcomes: dict[str, object] = {}
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    bad = DecodeRequest(Session("a"), [], lambda _: 1 // 0, Interrupt())  # type: ignore[arg-type]
    world.compute.decode(bad, lambda o: outcomes.update(a=o))
    world.compute.decode(world.request("b"), lambda o: outcomes.update(b=o))
    hold.set()
    world.until(lambda: len(outcomes) == 2)
    assert isinstance(outcomes["a"], HocketError)
    assert outcomes["b"] == Decoded("b", 2)


def test_stale_requests_are_dropped_and_a_failing_batch_fails_its_requests_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stale one is handed back unread; an error reaches every request of its batch, and the thread lives on."""
    outcomes: dict[str, object] = {}
    stale = Interrupt()
    stale.set()
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    world.compute.decode(world.request("s", stale), lambda o: outcomes.update(s=o))
    world.compute.decode(world.request("a"), lambda o: outcomes.update(a=o))
    hold.set()
    world.until(lambda: len(outcomes) == 2)
    assert isinstance(outcomes["s"], Preempted)
    assert outcomes["a"] == Decoded("a", 1)

    with monkeypatch.context() as patch:
        patch.setattr(world.compute, "_read", lambda *_: (_ for _ in ()).throw(MemoryError("no more")))
        world.compute.decode(world.request("b"), lambda o: outcomes.update(b=o))
        world.until(lambda: "b" in outcomes)
    assert isinstance(outcomes["b"], HocketError)
    world.compute.decode(world.request("c"), lambda o: outcomes.update(c=o))
    world.until(lambda: "c" in outcomes)
    assert outcomes["c"] == Decoded("c", 1)


def test_a_held_batch_ends_when_the_last_of_its_sessions_gives_it_up(world: World) -> None:
    """Benchmarks lengthen passes; one that nobody wants is not lengthened."""
    world.compute.decode_s = 3600.0
    interrupts = [Interrupt(), Interrupt()]
    outcomes: list[object] = []
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    for interrupt in interrupts:
        world.compute.decode(world.request("x", interrupt), outcomes.append)
    hold.set()
    interrupts[1].set()
    assert world.compute.batches == 0
    interrupts[0].set()
    world.until(lambda: len(outcomes) == 2)
    assert all(isinstance(outcome, Preempted) for outcome in outcomes)


def test_sessions_that_began_apart_are_decoded_together_from_then_on(world: World) -> None:
    """The second asks while the first is being decoded alone: two batches later they are one, and stay one."""
    left = dict.fromkeys("ab", REQUESTS)
    under_way, go_on = threading.Event(), threading.Event()

    def slow(name: str) -> DecodeRequest[str]:
        def then(_: object) -> str:
            under_way.set()
            assert go_on.wait(WAIT_S)
            return name

        return DecodeRequest(Session(name), [], then, Interrupt())  # type: ignore[arg-type]

    def again(name: str) -> Callable[[object], None]:
        def done(_: object) -> None:
            left[name] -= 1
            if left[name]:
                world.compute.decode(world.request(name), done)

        return done

    world.compute.decode(slow("a"), again("a"))
    assert under_way.wait(WAIT_S)
    world.compute.decode(world.request("b"), again("b"))
    go_on.set()
    world.until(lambda: not any(left.values()))
    assert world.log[0] == "a"
    assert world.log[1 : REQUESTS - 1] == ["ab"] * (REQUESTS - 2)


def test_the_request_that_replaces_an_interrupted_one_does_not_wait_for_the_main_thread(world: World) -> None:
    """The main thread hears of the interruption only afterwards: it has asked for the next one already."""
    world.compute.decode_s = 3600.0
    begun = {"old": threading.Event(), "new": threading.Event()}
    interrupts = {name: Interrupt() for name in begun}

    def decode(name: str) -> None:
        request = DecodeRequest(Session(name), [], lambda _: begun[name].set(), interrupts[name])  # type: ignore[arg-type]
        world.compute.decode(request, lambda _: None)

    decode("old")
    assert begun["old"].wait(WAIT_S)
    interrupts["old"].set()
    decode("new")
    assert begun["new"].wait(WAIT_S)  # though nobody has taken anything from the inbox
    interrupts["new"].set()


def test_a_prompt_that_nobody_wants_ends_with_its_pass_and_the_next_one_goes_on(world: World) -> None:
    """The pass itself goes on while a request of somebody else is in it; what the prompt held is freed."""
    freed: list[str] = []
    given_up = Interrupt()

    def passes(name: str) -> Prefill[str]:
        try:
            return (yield from prompt(name))
        finally:
            freed.append(name)

    ended: dict[str, object] = {}
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    world.compute.decode(world.request("a"), lambda _: given_up.set())
    world.compute.prefill(passes("X"), given_up, lambda outcome: ended.update(X=outcome))
    world.compute.prefill(passes("Y"), Interrupt(), lambda outcome: ended.update(Y=outcome))
    hold.set()
    world.until(lambda: len(ended) == 2)
    assert world.log == ["X0a", *(f"Y{at}" for at in range(PARTS))]
    assert freed == ["X", "Y"]
    assert isinstance(ended["X"], Preempted)
    assert ended["Y"] == "Y"


def test_a_pass_that_fails_fails_all_that_is_in_it_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DecodeRequest and prompt get an error each; the thread lives on."""
    outcomes: dict[str, object] = {}
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(world.compute, "_read", lambda *_: (_ for _ in ()).throw(MemoryError("no more")))
        world.compute.decode(world.request("a"), lambda outcome: outcomes.update(a=outcome))
        world.compute.prefill(prompt("X"), Interrupt(), lambda outcome: outcomes.update(X=outcome))
        hold.set()
        world.until(lambda: len(outcomes) == 2)
    assert isinstance(outcomes["a"], HocketError)
    assert isinstance(outcomes["X"], HocketError)
    world.compute.prefill(prompt("Y"), Interrupt(), lambda outcome: outcomes.update(Y=outcome))
    world.until(lambda: "Y" in outcomes)
    assert outcomes["Y"] == "Y"


@pytest.mark.parametrize(
    ("sessions", "yield_s", "waits"), [(MANY, 600.0, True), (MANY, 0.0, False), (MANY - 1, 600.0, False)]
)
def test_the_main_thread_waits_for_a_pass_of_many_sessions_and_for_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, sessions: int, yield_s: float, waits: bool
) -> None:
    """Until the pass ends, or its time is over; a pass for a few is not waited for at all."""
    begun, release, outcomes = threading.Event(), threading.Event(), []

    def read(segments: Sequence[Segment], interrupt: Interrupt) -> list[Heads]:
        begun.set()
        release.wait(WAIT_S)
        return world.read(segments, interrupt)

    monkeypatch.setattr(compute, "YIELD_S", yield_s)
    monkeypatch.setattr(world.compute, "_read", read)
    hold = threading.Event()
    world.compute.run(lambda: hold.wait(WAIT_S), lambda _: None)
    for number in range(sessions):
        world.compute.decode(world.request(str(number)), outcomes.append)
    world.compute.let_finish()  # nothing is under way
    hold.set()
    assert begun.wait(WAIT_S)
    main = threading.Thread(target=world.compute.let_finish)
    main.start()
    main.join(0.3 if waits else WAIT_S)
    assert main.is_alive() is waits
    release.set()
    main.join(WAIT_S)
    assert not main.is_alive()
    world.until(lambda: len(outcomes) == sessions)
