"""Whatever arrives at their sockets, daemons and clients neither end nor grow, and answer afterwards as before."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
import zmq
from fuzzer import BATCH, Attack, Fuzzer
from herd import NAMES, Herd, started

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Unavailable
from hocket_bus.messages import Hello, Message, Ping, Pong, Status, StatusRequest, Subscribed, Welcome
from hocket_bus.wire import decode, encode
from hocket_client import Client
from processes import resident_bytes
from waiting import WAIT_S

pytestmark = pytest.mark.programs

SEED = int(os.environ.get("HOCKET_FUZZ_SEED", "7"))
ALL = int(os.environ.get("HOCKET_FUZZ_MESSAGES", "1000000"))
GROWTH_BYTES = 100 << 20

T = TypeVar("T")


@pytest.fixture
def herd(tiny_models: dict[str, Path]) -> Iterator[Herd]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, started(Herd(Path(folder), tiny_models)) as herd:
        yield herd


def show(text: str) -> None:
    """Progress for who waits, past pytest."""
    print(text, file=sys.__stderr__, flush=True)


def answered(herd: Herd) -> bool:
    """Whether a question is answered by both sides; they may still have to notice that work was cancelled, or meet."""
    with herd.client() as client:
        deadline = Deadline.after(WAIT_S)
        while True:
            try:
                options = {"max_tokens": 6, "ignore_eos": True, "require_cloud": True, "deadline_s": 60.0}
                return len(client.ask("Where is the heron?", **options).result().token_ids) == 6
            except Unavailable:
                if deadline.passed:
                    raise


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(8_000, marks=pytest.mark.slow),
        pytest.param(ALL, marks=[pytest.mark.long, pytest.mark.timeout(4 * 3600)]),
    ],
    ids=["some", "all"],
)
def test_no_frames_end_a_daemon(herd: Herd, number: int) -> None:
    """Four daemons, real sockets: each lives under its process id, logs no failure, stays small, and answers."""
    pids = {name: herd.pid(name) for name in NAMES}
    assert all(pids.values())
    context = zmq.Context()
    fuzzer = Fuzzer(SEED)
    attacks = {name: Attack(context, herd.endpoint(name), fuzzer) for name in NAMES}
    small: dict[str, int] = {}
    sent = told = 0
    while sent < number:
        sent += sum(attack.batch() for attack in attacks.values())
        if not small and sent >= number / 4:
            small = {name: resident_bytes(pid) for name, pid in pids.items() if pid}
        if sent - told >= 50_000:
            told = sent
            show(f"fuzz: {sent:,} of {number:,} messages")
    for attack in attacks.values():
        attack.stop_all()
    large = {name: resident_bytes(pid) for name, pid in pids.items() if pid}
    show(
        f"fuzz: {sent:,} messages; MB, after a quarter and now: "
        + ", ".join(f"{name} {small[name] >> 20} and {large[name] >> 20}" for name in NAMES)
    )
    context.destroy(0)
    assert {name: herd.pid(name) for name in NAMES} == pids
    assert answered(herd)
    for name in NAMES:
        log = (herd.folder / f"{name}.log").read_text(encoding="utf-8")
        assert not re.search(r"Traceback|error in the main loop|error on the I/O thread|request failed", log), name
        assert large[name] - small[name] < GROWTH_BYTES


class EvilDaemon:
    """Greets and echoes as it must, and else says what comes to mind."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], folder: Path) -> None:
        self.endpoint = f"ipc://{folder}/evil"
        self._router, self._xpub = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        self._router.bind(self.endpoint)
        self._xpub.bind(self.endpoint + ".pub")
        self._topic = self._route = b""
        self.heard: Message | None = None

    def serve(self) -> None:
        """Answer one message, or confirm one subscription."""
        if self._xpub.poll(0):
            self._topic = self._xpub.recv()[1:]
            self._xpub.send_multipart([self._topic, *encode(Subscribed())])
        if not self._router.poll(100):
            return
        self._route, *frames = self._router.recv_multipart()
        self.heard = decode(frames)
        if isinstance(self.heard, Ping):
            self.say(Pong(sent_s=self.heard.sent_s))
        elif isinstance(self.heard, Hello):
            self.say(Welcome(role="device", epoch=1))
        elif isinstance(self.heard, StatusRequest):
            self.say(Status(request=self.heard.request, role="device", ready=True, facts={}))

    def say(self, message: Message) -> None:
        self._router.send_multipart([self._route, *encode(message)])

    def rave(self, fuzzer: Fuzzer) -> None:
        self._router.send_multipart([self._route, *fuzzer.frames()])
        self._xpub.send_multipart([self._topic, *fuzzer.frames()])

    def until(self, done: Future[T]) -> T:
        """Answer as it must until the client has what it waits for."""
        while not done.done():
            self.serve()
        return done.result()


@pytest.mark.parametrize(
    "number",
    [400, pytest.param(4_000, marks=pytest.mark.slow), pytest.param(ALL // 10, marks=pytest.mark.long)],
    ids=["few", "some", "all"],
)
@pytest.mark.timeout(1200)
def test_no_frames_end_a_client(number: int) -> None:
    """A daemon that says anything: the client lives on, and reads what is right."""
    fuzzer, context = Fuzzer(SEED), zmq.Context()
    with tempfile.TemporaryDirectory(prefix="hk") as folder, ThreadPoolExecutor(1) as pool:
        evil = EvilDaemon(context, Path(folder))
        client = evil.until(pool.submit(Client, evil.endpoint, connect_s=WAIT_S))
        for _ in range(number // BATCH):
            for _ in range(BATCH // 2):
                evil.rave(fuzzer)
            status = evil.until(pool.submit(client.status, wait_s=30.0))
            assert status.ready
        evil.until(pool.submit(client.close))
        context.destroy(0)
