"""A pair of real daemons for a benchmark: own processes, the cloud behind the link emulator, gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hocket_bus.places import keys
from hocket_client import Client
from hocket_retrieval.chunking import DEFAULT_WORDS
from hocket_tools.commands.documents import read_in
from hocket_tools.link import Conditions, Link, start
from hocket_tools.pair.home import Home
from hocket_tools.pair.loopback import trust_self
from hocket_tools.pair.temporary import temporary_home
from hocket_tools.pair.up import bring_up

START_S = 180.0
CLOUD_PORT = 17_801
SIDES = ("device", "cloud")


class BenchPair:
    """Four running daemons in a temporary home, and the link between device and cloud."""

    def __init__(self, home: Home, link: Link) -> None:
        self.home = home
        self.link = link

    def client(self, side: str) -> Client:
        """A client of one side's daemon; a cloud asked directly answers alone, without the link in between."""
        return Client(self.endpoint(side), keys=keys(self.home.at))

    def endpoint(self, side: str) -> str:
        """Where a side's daemon listens."""
        return self.home.endpoint("device") if side == "device" else f"tcp://127.0.0.1:{CLOUD_PORT}"

    def ingest(self, side: str, documents: Mapping[str, str]) -> None:
        """Let a side read texts, given by file name."""
        with tempfile.TemporaryDirectory(prefix="hocket-") as folder:
            for name, text in documents.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            read_in(self.home.endpoint(f"{side}-retrieval"), [Path(folder)])

    def set_rtt(self, rtt_s: float, jitter_s: float = 0.0) -> None:
        """Emulate a round trip between device and cloud."""
        self.link.set(Conditions.symmetric(rtt_s, jitter_s))


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
    with temporary_home() as home, start("127.0.0.1:0", f"127.0.0.1:{CLOUD_PORT}") as link:
        home.prepare()
        trust_self(keys(home.at), f"tcp://127.0.0.1:{CLOUD_PORT}", f"tcp://127.0.0.1:{link.port}")
        for side, held_s in zip(SIDES, holds, strict=True):
            _configure(home, side, link, held_s, settings)
            with home.config(f"{side}-retrieval").open("a", encoding="utf-8") as file:
                file.write(f"chunk_words = {chunk_words}\n")
            if stored:
                with home.config(side).open("a", encoding="utf-8") as file:
                    file.write(f'[kv]\nfolder = "{home.at / side}-kv"\n')
        bring_up(home, START_S, lambda _: None)
        yield BenchPair(home, link)


def _configure(home: Home, side: str, link: Link, hold_s: float, settings: Mapping[str, float]) -> None:
    endpoint = home.endpoint("device") if side == "device" else f"tcp://127.0.0.1:{CLOUD_PORT}"
    lines = [
        f'endpoint = "{endpoint}"',
        f'keys = "{keys(home.at)}"',
        f'retrieval = "{home.endpoint(side + "-retrieval")}"',
    ]
    if side == "device":
        lines.append(f'cloud = "tcp://127.0.0.1:{link.port}"')
    lines += [f"{key} = {value}" for key, value in settings.items()]
    lines += ["[model]", f"hold_decode_s = {hold_s}"]
    home.config(side).write_text("\n".join(lines) + "\n", encoding="utf-8")
