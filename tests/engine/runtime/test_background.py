"""The laws of what a daemon does between questions, without daemons: a collection that changes, a compute thread."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from hocket_bus.errors import Busy
from hocket_bus.messages import Chunks, Error, ListChunks
from hocket_bus.sockets import Received
from hocket_daemon.engine.preemption import Interrupt
from hocket_daemon.engine.runtime.entry import KV
from hocket_daemon.engine.runtime.sequences import Ahead
from hocket_daemon.engine.runtime.stored import StoredKV
from hocket_daemon.engine.text.tokenizer import Prefix
from hocket_daemon.serving.background import POLL_S, REPLY_S, Background

PAGE = 3
WORDS = 128


class World:
    """A retrieval daemon that answers when told to, and a compute thread that does one text at a time."""

    def __init__(self, folder: Path) -> None:
        self.texts: dict[int, str] = {}
        self.version = 0
        self.now_s = 0.0
        self.asked: list[ListChunks] = []
        self.computed: list[str] = []
        self.job: tuple[list[str], Interrupt, object, int] | None = None
        self.store = StoredKV(folder, 10**9, b"model")
        self.background = Background(self.store, self.asked.append, self.compute, WORDS)

    def change(self, texts: dict[int, str]) -> None:
        self.texts, self.version = texts, self.version + 1

    def compute(self, texts: list[str], interrupt: Interrupt, done: object) -> None:
        assert self.job is None, "one job at a time"
        self.job = (texts, interrupt, done, 0)

    def work(self) -> None:
        """The compute thread: one text, or the end of the job."""
        assert self.job is not None
        texts, interrupt, done, at = self.job
        if at == len(texts) or interrupt._event.is_set():
            self.job = None
            done(Ahead(at, room=True))  # type: ignore[operator]
            return
        prefix = Prefix(texts[at], [1, 2])
        if not self.store.has(prefix):
            if not self.store.put(prefix, KV("float32", [np.zeros((1, 2, 16), np.uint8)] * 2), evict=False):
                self.job = None
                done(Ahead(at, room=False))  # type: ignore[operator]
                return
            self.computed.append(texts[at])
        self.job = (texts, interrupt, done, at + 1)

    def reply(self) -> None:
        """The oldest request is answered."""
        asked = self.asked.pop(0)
        page = [key for key in sorted(self.texts) if key > asked.after][:PAGE]
        texts, last = [self.texts[key] for key in page], page[-1] if page else asked.after
        self.hear(Chunks(request=asked.request, version=self.version, texts=texts, last=last))

    def hear(self, message: Chunks | Error) -> None:
        """The retrieval daemon says this."""
        self.background.on_reply(Received(None, b"", message))  # type: ignore[arg-type] # it looks at the message alone

    def settle(self) -> None:
        """Everything gets its turn until the store is in step."""
        for _ in range(500):
            self.background.step(self.now_s, idle=True)
            if self.asked:
                self.reply()
            elif self.job is not None:
                self.work()
            elif "up to date" in self.background.fact() and self.version == self.background._version:
                return
            else:
                self.now_s = max(self.now_s, self.background.due_s)
        raise AssertionError("it never comes to rest")

    def kept(self) -> set[str]:
        self.store._writer.submit(lambda: None).result(30)
        return {text for text in {*self.texts.values(), *self.computed} if self.store.has(Prefix(text, [1, 2]))}


def test_the_store_follows_any_change_of_the_collection(tmp_path: Path) -> None:
    """Over random changes and orders of events, what is kept at rest is what the collection holds; each text once."""
    rng = random.Random(11)
    world = World(tmp_path)
    for round_ in range(20):
        keys = rng.sample(range(1, 40), rng.randint(0, 12))
        world.change({key: f"text {key}" for key in keys})
        for _ in range(rng.randint(0, 30)):  # in the middle of whatever is going on
            world.background.step(world.now_s, idle=rng.random() < 0.7)
            act = rng.choice(["reply", "work", "time", "lost", "change"])
            if act == "reply" and world.asked:
                world.reply()
            elif act == "work" and world.job is not None:
                world.work()
            elif act == "lost" and world.asked:
                world.asked.pop(0)
            elif act == "change" and world.texts and rng.random() < 0.2:
                world.change(dict(list(world.texts.items())[1:]))
            else:
                world.now_s += rng.uniform(0, REPLY_S / 2)
        world.settle()
        assert world.kept() == set(world.texts.values()), f"round {round_}"
    before = len(world.computed)
    world.background.restart()
    world.settle()
    assert len(world.computed) == before
    world.store.close()


def test_a_question_interrupts_and_nothing_begins_before_its_end(tmp_path: Path) -> None:
    """While a question is in work no job starts; a running one is told to stop; afterwards it goes on where it was."""
    world = World(tmp_path)
    world.change({key: f"text {key}" for key in range(1, 4)})
    while world.job is None:
        world.background.step(world.now_s, idle=True)
        if world.asked:
            world.reply()
        else:
            world.now_s += 1.0
    world.work()
    world.background.step(world.now_s, idle=False)
    assert world.job[1]._event.is_set()
    world.work()
    for _ in range(5):
        world.now_s += POLL_S
        world.background.step(world.now_s, idle=False)
        while world.asked:
            world.reply()
        assert world.job is None
    world.settle()
    assert world.computed == ["text 1", "text 2", "text 3"]
    world.store.close()


def test_nothing_is_computed_while_files_are_ingested(tmp_path: Path) -> None:
    """The collection changes from poll to poll; what is missing is computed once it has settled."""
    world = World(tmp_path)
    for number in range(1, 8):
        world.change({key: f"text {key}" for key in range(1, number + 1)})
        for _ in range(6):
            world.now_s += POLL_S / 6
            world.background.step(world.now_s, idle=True)
            while world.asked:
                world.reply()
                world.background.step(world.now_s, idle=True)
        assert world.job is None
    world.settle()
    assert len(world.computed) == 7
    world.store.close()


def test_one_request_at_a_time_and_never_in_a_hurry(tmp_path: Path) -> None:
    """An unanswered request is repeated after a while, a refused one and an answered poll at the next poll."""
    world = World(tmp_path)
    for _ in range(10):
        world.background.step(world.now_s, idle=True)
    assert len(world.asked) == 1
    world.background.step(REPLY_S + 0.1, idle=True)
    assert len(world.asked) == 2
    late, asked = world.asked
    world.hear(Error(code="unavailable", text="loading", request=late.request))
    world.hear(Error(code="unavailable", text="loading", request=asked.request))
    world.background.step(REPLY_S + POLL_S, idle=True)
    assert len(world.asked) == 2
    world.background.step(REPLY_S + POLL_S + 0.2, idle=True)
    assert len(world.asked) == 3
    world.store.close()


def test_where_no_row_is_free_it_tries_again_at_leisure(tmp_path: Path) -> None:
    """As long as sessions have them all; nothing is forgotten for that, and nobody is asked in a hurry."""
    world = World(tmp_path)
    world.change({key: f"text {key}" for key in range(1, 4)})
    busy = 0
    while not world.computed:
        world.background.step(world.now_s, idle=True)
        if world.asked:
            world.reply()
        elif world.job is not None and busy < 5:
            busy += 1
            done, world.job = world.job[2], None
            done(Busy("all slots are taken"))  # type: ignore[operator]
            world.background.step(world.now_s + POLL_S * 0.9, idle=True)
            assert world.job is None
        elif world.job is not None:
            world.work()
        else:
            world.now_s += POLL_S
    world.settle()
    assert sorted(world.computed) == ["text 1", "text 2", "text 3"]
    world.store.close()


def test_a_refusal_is_waited_out(tmp_path: Path) -> None:
    """Whatever request is refused, nothing is asked before the next poll, which begins anew; then all is computed."""
    for refused in range(6):
        world = World(tmp_path / str(refused))
        world.change({key: f"text {key}" for key in range(1, 8)})
        for _ in range(refused):
            world.background.step(world.now_s, idle=True)
            if world.asked:
                world.reply()
        while not world.asked:
            world.background.step(world.now_s, idle=True)
            if world.job is not None:
                world.work()
        world.hear(Error(code="busy", text="stopping", request=world.asked.pop().request))
        for _ in range(20):
            world.background.step(world.now_s + POLL_S * 0.99, idle=True)
        assert not world.asked
        world.settle()
        assert sorted(world.computed) == sorted(world.texts.values())
