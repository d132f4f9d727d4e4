"""What a neighbour feels of each attack: its admission and its round trip, right before it and under it, as JSON.

    python tests/security/measure_shares.py [ATTACK…]

The cloud and its retrieval daemon are processes with the bundled models; the attacker is another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Empty

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "security")]

from shares import Machine, about, begin, make_keys  # noqa: E402

from exact import exact  # noqa: E402
from hocket_bus.messages import (  # noqa: E402
    Cancel,
    Done,
    End,
    Error,
    Ingest,
    Ingested,
    ListChunks,
    Message,
    Ready,
    Refused,
    Search,
    Status,
    StatusRequest,
    Sync,
)
from ports import free_port  # noqa: E402

GIVE_UP_S = 20.0
ROUNDS = 20
MISSES = 3
SETTLE_S = 5.0
RUN = {
    "cloud": "import sys; from pathlib import Path; from hocket_daemon.roles.cloud import main;main(Path(sys.argv[1]))",
    "retrieval": "import sys; from pathlib import Path; from hocket_bus.config import load;"
    "from hocket_retrieval.config import RetrievalConfig; from hocket_retrieval.service.daemon import run;"
    "run(load(Path(sys.argv[1]), RetrievalConfig))",
}


def main(attacks: list[str]) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="hk") as name, ExitStack() as stack:
        folder, at = Path(name), f"tcp://127.0.0.1:{free_port()}"
        make_keys(folder, at)
        _start(stack, folder, at)
        tokenizer = _tokenizer(folder)
        device = Machine(at, folder / "alice", tokenizer)
        stack.callback(device.close)
        _measure(device)
        figures = {}
        for attack in attacks or list(ATTACKS):
            without = _measure(device)
            with _attacked(attack, folder, at, tokenizer):
                time.sleep(SETTLE_S)
                figures[attack] = {"without": without, "under": _measure(device)}
            print(attack, figures[attack], file=sys.stderr)
            time.sleep(SETTLE_S)
        print(json.dumps(figures, indent=1))


def _start(stack: ExitStack, folder: Path, at: str) -> None:
    (folder / "retrieval.toml").write_text(f'endpoint = "ipc://{folder}/r"\nstate = "{folder}/state"\n')
    cloud = f'endpoint = "{at}"\nretrieval = "ipc://{folder}/r"\nkeys = "{folder}/cloud"\nlog_level = "error"\n'
    (folder / "cloud.toml").write_text(cloud + "expert.silence_s = 30.0\n")
    for name, code in RUN.items():
        arguments = [sys.executable, "-c", code, str(folder / f"{name}.toml")]
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.wait, 60)
        stack.callback(process.terminate)
    text = " ".join(
        f"The heron number {n} stands in the marsh at dawn, {n % 7} steps from the reeds." for n in range(200)
    )
    (folder / "birds.txt").write_text(text)
    keeper = Machine(f"ipc://{folder}/r", None, role="client")
    stack.callback(keeper.close)
    _ingest(keeper, folder / "birds.txt")


def _ingest(keeper: Machine, path: Path) -> None:
    """Asked again after a silence: a daemon too busy with its loading to answer pings loses the way back."""
    while True:
        keeper.say(Ingest(request=bytes(16), paths=[str(path)]))
        with suppress(Empty):
            keeper.hear(Ingested, timeout_s=30.0)
            return


def _tokenizer(folder: Path) -> str:
    from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
    from hocket_daemon.engine.settings import KVSettings

    return TransformersModel(exact(slots=1), "device", KVSettings()).fingerprint


# --- the neighbour


def _measure(device: Machine) -> dict[str, object]:
    acts = {"admission_begin_ms": _admitted, "admission_ask_ms": _answered, "round_trip_ms": _told}
    return {name: _summary(_rounds(act, device)) for name, act in acts.items()}


def _rounds(act: Callable[[Machine], bool], device: Machine) -> list[float | None]:
    """ROUNDS times, or fewer where it was kept out MISSES times."""
    values = list[float | None]()
    while len(values) < ROUNDS and values.count(None) < MISSES:
        values.append(_timed(act, device))
    return values


def _summary(values: list[float | None]) -> dict[str, object]:
    come = sorted(value for value in values if value is not None)
    median = round(come[len(come) // 2], 1) if come else None
    return {
        "median": median,
        "longest": round(come[-1], 1) if come else None,
        "kept_out": f"{len(values) - len(come)} of {len(values)}",
    }


def _timed(act: Callable[[Machine], bool], device: Machine) -> float | None:
    started = time.monotonic()
    came = act(device)
    return (time.monotonic() - started) * 1000 if came else None


def _admitted(device: Machine) -> bool:
    """A session is opened and its passages are read; refused, it is tried again when the cloud says."""
    end_s = time.monotonic() + GIVE_UP_S
    while (left_s := end_s - time.monotonic()) > 0:
        opening = begin()
        device.say(opening)
        answer = _next(device, (Ready, Refused), opening.session, left_s)
        device.say(End(session=opening.session, reason="done"))
        if isinstance(answer, Ready):
            return True
        if isinstance(answer, Refused):
            time.sleep(max(0.1, answer.retry_after_s))
    return False


def _answered(device: Machine) -> bool:
    """A question is answered with four tokens."""
    end_s = time.monotonic() + GIVE_UP_S
    while (left_s := end_s - time.monotonic()) > 0:
        asked = device.ask()
        device.say(asked)
        answer = _next(device, (Done, Error), asked.request, left_s)
        if isinstance(answer, Done):
            return True
        device.say(Cancel(request=asked.request))
        if isinstance(answer, Error):
            time.sleep(max(0.1, answer.retry_after_s))
    return False


def _told(device: Machine) -> bool:
    request = os.urandom(16)
    device.say(StatusRequest(request=request))
    return _next(device, (Status,), request, GIVE_UP_S) is not None


def _next(device: Machine, kinds: tuple[type[Message], ...], number: bytes, timeout_s: float) -> Message | None:
    """The next message of these kinds about the session or request of this number."""

    try:
        return device.hear(Message, lambda message: isinstance(message, kinds) and about(number)(message), timeout_s)
    except Empty:
        return None


# --- the attacks


@contextmanager
def _attacked(attack: str, folder: Path, at: str, tokenizer: str) -> Iterator[None]:
    arguments = [sys.executable, __file__, "--attack", attack, str(folder), at, tokenizer]
    process = subprocess.Popen(arguments)
    try:
        yield
        assert process.poll() is None, "the attacker has given up"
    finally:
        process.terminate()
        process.wait(20)


def attack(name: str, folder: str, at: str, tokenizer: str) -> None:
    """Attack until terminated."""
    retrieval = name in {"search", "chunks"}
    where, keys = (f"ipc://{folder}/r", None) if retrieval else (at, Path(folder) / "mallory")
    ATTACKS[name](Machine(where, keys, tokenizer, "client" if retrieval else "device"))


def _ask_cancel(mallory: Machine) -> None:
    """400 questions a second, each taken back at once."""
    _flood(mallory, 400, lambda: [asked := mallory.ask(), Cancel(request=asked.request)])


def _one_id(mallory: Machine) -> None:
    """The same number for a session, a question and its end, 100 times a second."""

    def turn() -> list[Message]:
        number = os.urandom(16)
        return [begin(number), mallory.ask(number), Cancel(request=number)]

    _flood(mallory, 100, turn)


def _documents(mallory: Machine) -> None:
    """A session of 16 documents, or as many as one may have, and silence."""
    while True:
        for documents in (16, 14):
            mallory.say(begin(documents=documents, tokens=4096 // 64))
        time.sleep(1.0)
        mallory.heard()


def _places(mallory: Machine) -> None:
    """As many sessions as there are places, opened again when they end, and silence."""
    _flood(mallory, 20, lambda: [begin()])


def _spoken(mallory: Machine) -> None:
    """The same, and a word about each of them every second."""
    sessions = list[bytes]()
    while True:
        opening = begin()
        sessions.append(opening.session)
        mallory.say(opening)
        for session in sessions[-200:]:
            mallory.say(Sync(session=session, epoch=0, confirmed=0, digest=0))
        time.sleep(0.2)
        mallory.heard()


def _search(mallory: Machine) -> None:
    """Searches at the retrieval daemon itself, with long questions, 400 a second."""
    query = "heron marsh dawn " * 400
    _flood(mallory, 400, lambda: [Search(request=os.urandom(16), query=query, k=64)])


def _chunks(mallory: Machine) -> None:
    """Pages of all texts, 400 a second."""
    _flood(mallory, 400, lambda: [ListChunks(request=os.urandom(16))])


def _flood(mallory: Machine, per_s: float, turn: Callable[[], list[Message]]) -> None:
    due_s = time.monotonic()
    while True:
        mallory.say(*turn())
        mallory.heard()
        due_s = max(due_s + 1 / per_s, time.monotonic() - 0.1)
        time.sleep(max(0.0, due_s - time.monotonic()))


ATTACKS: dict[str, Callable[[Machine], None]] = {
    "ask-cancel": _ask_cancel,
    "one-id": _one_id,
    "documents": _documents,
    "places": _places,
    "spoken": _spoken,
    "search": _search,
    "chunks": _chunks,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        attack(*sys.argv[2:])
    else:
        main(sys.argv[1:])
