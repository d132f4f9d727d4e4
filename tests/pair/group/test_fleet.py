"""Laws of the scripted devices of `hocket bench load`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import pair

from hocket_bus.messages import Target
from hocket_lab.bench.running.scripted import Fleet, from_seed
from ports import free_port

CLOUD = f"tcp://127.0.0.1:{free_port()}"


def test_scripted_devices_draft_from_the_seed_alone() -> None:
    """The same prefix, the same distribution; another one, another."""
    assert (from_seed(5).ids == from_seed(5).ids).all()
    assert (from_seed(5).ids != from_seed(6).ids).any()


def test_a_fleet_keeps_a_cloud_busy_in_whole_batches(tiny_models: dict[str, Path]) -> None:
    """Four devices over CURVE: all get tokens, sessions end and begin anew, and the cloud decodes them together."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.trust(CLOUD)
        made.start_retrieval("cloud")
        cloud = made.start_cloud(endpoint=CLOUD, hold_s=0.01)
        with Fleet(CLOUD, Path(made.keys), 4, 6, documents=1) as fleet:
            answers = 0
            for _ in range(60):
                seen = fleet.drive(0.5)
                answers += seen.answers
                assert seen.refused == 0
                if answers >= 12:
                    break
            assert answers >= 12
            assert len(seen.gaps_s) >= seen.answers
            assert seen.tokens > 0
        assert cloud.services.compute.requests > 2 * cloud.services.compute.batches


def test_a_token_that_the_model_does_not_have_fails_its_own_session_alone(tiny_models: dict[str, Path]) -> None:
    """Sessions share batches, and a device may say what it likes: the others do not feel it."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.trust(CLOUD)
        made.start_retrieval("cloud")
        made.start_cloud(endpoint=CLOUD)
        with Fleet(CLOUD, Path(made.keys), 3, 60, documents=1) as fleet:
            liar, *_ = fleet._devices.values()
            while not 0 < (first := len(liar._dialogue.exchange.confirmed)) < 20:  # far from the session's end
                fleet.drive(0.01)
            liar._send(Target(session=liar._key, epoch=0, first=first, ids=[200_000], digest=0))
            liar._send = lambda _: None  # a later word of its own would correct it
            refused = answers = 0
            for _ in range(60):
                seen = fleet.drive(0.5)
                refused, answers = refused + seen.refused, answers + seen.answers * bool(refused)
                if answers >= 3:
                    break
            assert refused == 1
            assert answers >= 3
