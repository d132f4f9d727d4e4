"""A pair of real daemons for a benchmark: own processes, the cloud behind the link emulator, gone afterwards.

What the cloud's machine offers at port p, its daemon and its retrieval daemon, is at p + FAR across the emulated link.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hocket_bus.places import keys
from hocket_client import Client
from hocket_retrieval.chunking import DEFAULT_WORDS
from hocket_tools.caller import Caller
from hocket_tools.commands.documents import read_in
from hocket_tools.link import Conditions, Link, start
from hocket_tools.pair.home import Home
from hocket_tools.pair.loopback import trust_self
from hocket_tools.pair.temporary import temporary_home
from hocket_tools.pair.up import bring_up

START_S = 180.0
CLOUD_PORT, SEARCH_PORT = 17_801, 17_803  # the next one of each carries its streams
FAR = 10
SIDES = ("device", "cloud")


class BenchPair:
    """Four running daemons in a temporary home, and the links between device and cloud."""

    def __init__(self, home: Home, links: Sequence[Link]) -> None:
        self.home = home
        self._links = links

    def client(self, side: str, *, far: bool = False) -> Client:
        """A client of one side's daemon; a cloud asked directly answers alone, across the link if `far`."""
        return Client(self.endpoint(side, far=far), keys=keys(self.home.at))

    def searcher(self, side: str, *, far: bool = False) -> Caller:
        """A connection to one side's retrieval daemon, across the link if `far`."""
        return Caller(_search_endpoint(self.home, side, far=far), keys=keys(self.home.at))

    def endpoint(self, side: str, *, far: bool = False) -> str:
        """Where a side's daemon listens."""
        return self.home.endpoint("device") if side == "device" else _cloud(CLOUD_PORT, far=far)

    def ingest(self, side: str, documents: Mapping[str, str]) -> None:
        """Let a side read texts, given by file name."""
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
            for name, text in documents.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            read_in(_search_endpoint(self.home, side), [Path(folder)], keys(self.home.at))

    def set_rtt(self, rtt_s: float, jitter_s: float = 0.0) -> None:
        """Emulate a round trip between device and cloud; `jitter_s` is that of each direction."""
        for link in self._links:
            link.set(Conditions.symmetric(rtt_s, jitter_s))


@contextmanager
def bench_pair(
    hold_s: float | tuple[float, float] = 0.0,
    *,
    stored: bool = False,
    chunk_words: int = DEFAULT_WORDS,
    **settings: float,
) -> Iterator[BenchPair]:
    """Start a pair whose decode steps take at least `hold_s`, one value or (device's, cloud's).

    With stored document KV if `stored`; `chunk_words` is that of both retrieval daemons, `settings` are keys of both
    daemons' configuration.
    """
    holds = hold_s if isinstance(hold_s, tuple) else (hold_s, hold_s)
    with temporary_home() as home, ExitStack() as stack:
        ports = (CLOUD_PORT, CLOUD_PORT + 1, SEARCH_PORT)
        links = [stack.enter_context(start(_address(port + FAR), _address(port))) for port in ports]
        home.prepare()
        trust_self(
            keys(home.at), *(_cloud(port, far=far) for port in (CLOUD_PORT, SEARCH_PORT) for far in (False, True))
        )
        for side, held_s in zip(SIDES, holds, strict=True):
            _configure(home, side, held_s, settings)
            _configure_search(home, side, chunk_words)
            if stored:
                with home.config(side).open("a", encoding="utf-8") as file:
                    file.write(f'[kv]\nfolder = "{home.at / side}-kv"\n')
        bring_up(home, START_S, lambda _: None)
        yield BenchPair(home, links)


def _address(port: int) -> str:
    return f"127.0.0.1:{port}"


def _cloud(port: int, *, far: bool = False) -> str:
    return f"tcp://{_address(port + FAR * far)}"


def _search_endpoint(home: Home, side: str, *, far: bool = False) -> str:
    return home.endpoint("device-retrieval") if side == "device" else _cloud(SEARCH_PORT, far=far)


def _configure(home: Home, side: str, hold_s: float, settings: Mapping[str, float]) -> None:
    endpoint = home.endpoint("device") if side == "device" else _cloud(CLOUD_PORT)
    lines = [
        f'endpoint = "{endpoint}"',
        f'keys = "{keys(home.at)}"',
        f'retrieval = "{_search_endpoint(home, side)}"',
    ]
    if side == "device":
        lines.append(f'cloud = "{_cloud(CLOUD_PORT, far=True)}"')
    lines += [f"{key} = {value}" for key, value in settings.items()]
    lines += ["[model]", f"hold_decode_s = {hold_s}"]
    home.config(side).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _configure_search(home: Home, side: str, chunk_words: int) -> None:
    lines = [
        f'endpoint = "{_search_endpoint(home, side)}"',
        f'state = "{home.at / side}-documents"',
        f'keys = "{keys(home.at)}"',
        f"chunk_words = {chunk_words}",
    ]
    home.config(f"{side}-retrieval").write_text("\n".join(lines) + "\n", encoding="utf-8")
