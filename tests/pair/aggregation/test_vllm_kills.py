"""A cloud on vLLM, of one process or of one more for each rank, any of which is killed in the middle of an answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from herd import Herd, read, started
from vllm_here import SMALL, needs_vllm

import hocket_models
from exact import table
from hocket_client import Client, Stream
from waiting import WAIT_S, until

pytestmark = [needs_vllm, pytest.mark.long, pytest.mark.timeout(3600)]
TOKENS, PLACES = 24, 10
DIED = 70  # the exit status of a daemon that has lost a rank


class VllmHerd(Herd):
    """The cloud is a program of its own, since it starts its ranks itself."""

    def __init__(self, folder: Path, models: dict[str, Path], ranks: int) -> None:
        super().__init__(folder, models)
        self._ranks = ranks
        self.cloud: subprocess.Popen[bytes] | None = None

    def start(self, name: str) -> None:
        if name != "cloud":
            super().start(name)
            return
        engine = SMALL | {"tensor_parallel_size": self._ranks}
        options = ", ".join(f"{key} = {str(value).lower()}" for key, value in engine.items())
        model = table(self._models["cloud"], engine='"vllm"', context=512, vllm=f"{{{options}}}")
        own = f'endpoint = "{self.endpoint(name)}"\nretrieval = "{self.endpoint(name)}-retrieval"\n'
        (self.folder / "cloud.toml").write_text(f"{own}{model}[expert.model]\nkv_bytes = 200_000_000\n")
        hocket = Path(sys.executable).parent / "hocket"
        with (self.folder / "cloud.log").open("ab") as log:
            self.cloud = subprocess.Popen(
                [hocket, "cloud", "--config", self.folder / "cloud.toml"], stdout=log, stderr=log
            )

    def ranks(self) -> list[int]:
        """The processes that the cloud has started for its ranks."""
        assert self.cloud is not None
        return [pid for pid in children(self.cloud.pid) if b"resource_tracker" not in command(pid)]

    def kill_cloud(self) -> int:
        """What it has exited with."""
        assert self.cloud is not None
        self.cloud.kill()
        return self.cloud.wait(WAIT_S)

    def kill_rank(self, number: int) -> int:
        """The same, when a rank was killed and nobody else."""
        assert self.cloud is not None
        ranks = self.ranks()
        os.kill(ranks[number % len(ranks)], signal.SIGKILL)
        return self.cloud.wait(WAIT_S)

    def close(self) -> None:
        if self.cloud is not None:
            self.kill_cloud()
        super().close()


def children(pid: int) -> list[int]:
    """Of all threads of a process."""
    found = [task.read_text().split() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for each in found for child in each]


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@contextmanager
def opened(ranks: int) -> Iterator[VllmHerd]:
    models = {"device": hocket_models.path("device"), "cloud": hocket_models.path("cloud")}
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        herd = VllmHerd(Path(folder), models, ranks)
        with started(herd):
            yield herd


def asked(client: Client, seed: int) -> Stream:
    return client.ask(
        "heron?", seed=seed, weights="static", max_tokens=TOKENS, ignore_eos=True, temperature=1.0, documents=1,
        deadline_s=WAIT_S,
    )  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 2])
def test_whatever_is_killed_the_answer_ends_without_gap_or_repetition(ranks: int) -> None:
    """At ten places of it; with two ranks one of them is killed, and the daemon ends with it, to be started again."""
    with opened(ranks) as herd:
        for place in range(PLACES):
            with herd.client() as client:
                undisturbed = asked(client, place).result().token_ids
                stream = asked(client, place)
                tokens = iter(stream)
                for _ in range(place * TOKENS // PLACES):
                    next(tokens)
                left = herd.ranks()
                status = herd.kill_cloud() if ranks == 1 else herd.kill_rank(place)
                herd.start("cloud")
                outcome = read(stream)
            assert status == (-signal.SIGKILL if ranks == 1 else DIED)
            until(lambda gone=left: not any(Path(f"/proc/{pid}").exists() for pid in gone))
            assert outcome.done is not None
            alone = [token.step for token in outcome.tokens if token.source == "solo"]
            assert outcome.done.token_ids[: min(alone, default=TOKENS)] == undisturbed[: min(alone, default=TOKENS)]
            assert len(outcome.done.token_ids) == TOKENS
            herd.answers_together()


def test_a_cloud_that_is_stopped_leaves_no_rank_behind() -> None:
    """Its end is theirs."""
    with opened(2) as herd:
        assert herd.cloud is not None
        ranks = herd.ranks()
        assert len(ranks) == 2
        herd.cloud.terminate()
        assert herd.cloud.wait(WAIT_S) == 0
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ranks))
