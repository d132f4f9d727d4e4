"""Laws of `hocket bench wire`: bytes are those of real messages, distributions are what they are called."""

import json
from pathlib import Path

import numpy as np
import pytest
import zmq

from hocket_bus import wire
from hocket_bus.messages import Draft
from hocket_daemon.engine.sampling.distribution import decode, truncate
from hocket_lab.bench.speed.wire import SHAPES, SIZES, Settings, framed_bytes, made, message_of, run
from hocket_lab.link.tap import CURVE_BYTES, Tap
from waiting import WAIT_S


@pytest.mark.parametrize("shape", SHAPES)
def test_distributions_sum_to_one_and_get_flatter(shape: str) -> None:
    """Peaked needs a handful of ids for 80 %, flat hundreds."""
    rng = np.random.default_rng(0)
    drawn = [made(shape, 5_000, rng) for _ in range(20)]
    assert [p.sum() for p in drawn] == pytest.approx([1.0] * 20)
    ids = np.mean([len(truncate(p, 0.8).ids) for p in drawn])
    assert {"peaked": ids < 10, "mixed": 5 < ids < 300, "flat": ids > 500}[shape]


def test_the_message_that_is_weighed_is_a_draft_that_can_be_read() -> None:
    """Its frames decode to the same distribution; ZeroMQ adds two bytes to a short frame and nine to a long one."""
    head = truncate(made("flat", 5_000, np.random.default_rng(0)), 0.8)
    frames = wire.encode(message_of(head, int(head.ids[0]), 7))
    back = wire.decode(frames)
    assert isinstance(back, Draft)
    assert np.array_equal(decode(back.payload).ids, head.ids)
    assert [len(frame) < 256 for frame in frames] == [True, True, False]
    assert framed_bytes(frames) == sum(map(len, frames)) + 2 + 2 + 9


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encrypted", [False, True])
def test_the_bytes_are_those_of_a_socket(tmp_path: Path, shape: str, encrypted: bool) -> None:
    """Of a draft that one libzmq sends to another, in the clear and over CURVE."""
    head = truncate(made(shape, 5_000, np.random.default_rng(0)), 0.8)
    frames = wire.encode(message_of(head, int(head.ids[0]), 7))
    near, remote = (f"ipc://{tmp_path}/{name}" for name in ("near", "far"))
    with (
        zmq.Context() as context,
        Tap(near, remote) as tap,
        context.socket(zmq.PULL) as pull,
        context.socket(zmq.PUSH) as push,
    ):
        if encrypted:
            _encrypt(pull, push)
        pull.rcvtimeo = int(1000 * WAIT_S)
        pull.bind(remote)
        push.connect(near)
        sizes = []
        for _ in range(2):
            push.send_multipart(frames)
            assert pull.recv_multipart() == list(frames)
            sizes.append(sum(map(len, tap.recorded())))
    assert sizes[1] - sizes[0] == framed_bytes(frames, CURVE_BYTES if encrypted else 0)


def _encrypt(server: zmq.Socket[bytes], client: zmq.Socket[bytes]) -> None:
    server.curve_server = True
    public, server.curve_secretkey = zmq.curve_keypair()
    client.curve_serverkey = public
    client.curve_publickey, client.curve_secretkey = zmq.curve_keypair()


@pytest.mark.slow
def test_the_table_is_whole_and_targets_stand_beside(tmp_path: Path) -> None:
    """A row for every cell and size; the published figures only where they were measured; claims for each target."""
    settings = Settings(vocabularies=[50_272], wire_masses=[0.8, 0.98], draws=2, seed=0)
    run(settings, tmp_path / "w.json")
    content = json.loads((tmp_path / "w.json").read_text())
    assert len(content["rows"]) == 2 * len(SHAPES) + len(SIZES)
    for row in content["rows"][: 2 * len(SHAPES)]:
        assert (row["published_bytes"] is not None) == (row["wire_mass"] == 0.8)
        assert row["bytes_bare"] < row["bytes"] < row["bytes_curve"] < row["fp16_bytes"] < row["json_bytes"]
    names = " ".join(claim["name"] for claim in content["claims"])
    for part in (
        "bytes without headers, peaked",
        "bytes with all headers, without CURVE's",
        "codec, mixed",
        "1000 ids",
        "p95",
    ):
        assert part in names
    before = content["rows"]
    run(settings, tmp_path / "w.json")
    assert json.loads((tmp_path / "w.json").read_text())["rows"] == before
