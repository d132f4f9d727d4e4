"""Laws of the signed list of cloud daemons: what counts as one, who is with whom, and whom a device ever dials."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from zmq import SocketType

from exact import exact
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.messages import Refused
from hocket_bus.sockets import Received, new_key_pair
from hocket_bus.sockets.socket_set import SocketSet
from hocket_bus.trust.keys import write_own
from hocket_daemon.composition.settings import CompositionSettings
from hocket_daemon.config import DeviceSettings
from hocket_daemon.engine.backends.transformers.transformers_model import TransformersModel
from hocket_daemon.roles.device import DeviceDaemon
from hocket_daemon.roles.membership import (
    BY_LIST,
    CANDIDATES,
    FILE,
    CloudMember,
    MemberList,
    new_owner,
    parse,
    read,
    sign,
    take,
)
from hocket_daemon.serving.cluster import CloudLink, Cluster
from ports import free_port


def members(number: int, model: str = "m", first: int = 0) -> dict[str, CloudMember]:
    return {
        f"gpu-{each}": CloudMember(f"tcp://127.0.0.1:{free_port()}", new_key_pair().public, model, 4)
        for each in range(first, first + number)
    }


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    new_owner(tmp_path / "owner")
    return tmp_path / "owner"


def test_a_list_is_taken_as_signed_or_not_at_all(owner: Path) -> None:
    """Whatever character of it is changed, and wherever it is cut."""
    signed = sign(owner, members(3))
    text = (owner / FILE).read_text()
    assert parse(text, "it") == signed
    rng = random.Random(1)
    changed = [text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :] for at in rng.sample(range(len(text)), 150)]
    for other in [*changed, text + "\n", text[:-1], "", text.partition("\n")[2]]:
        with pytest.raises(BadConfiguration):
            parse(other, "it")


def test_only_a_later_list_of_the_same_owner_takes_its_place(owner: Path, tmp_path: Path) -> None:
    """The version that an owner signs only rises; what is refused leaves the list that there was."""
    device, texts = tmp_path / "device", []
    for version in (1, 2):
        assert sign(owner, members(3)).version == version
        texts.append((owner / FILE).read_text())
    new_owner(tmp_path / "other")
    for _ in range(3):
        sign(tmp_path / "other", members(3))
    take(device, texts[1])
    for refused in (texts[0], (tmp_path / "other" / FILE).read_text()):
        with pytest.raises(BadRequest):
            take(device, refused)
    assert read(device) == parse(texts[1], "it")


@pytest.mark.parametrize("wrong", ["ipc:///tmp/x", "tcp://nowhere", "tcp://0.0.0.0:7100"])
def test_a_member_that_no_device_can_dial_is_not_signed(owner: Path, wrong: str) -> None:
    """Nor two daemons with one key, which nobody could tell apart; nor a list of nobody."""
    fine = members(2)
    elsewhere = CloudMember(wrong, fine["gpu-0"].key, "m", 4)
    for listed in ({"gpu-0": elsewhere}, {**fine, "twin": fine["gpu-0"]}, {}):
        with pytest.raises(BadConfiguration):
            sign(owner, listed)


def test_members_that_come_and_go_move_few_devices() -> None:
    """Each device has two of its model, evenly spread; who has not the one that leaves keeps both."""
    every = members(5)
    whole = MemberList("0" * 64, 1, every | members(2, "another", 5))
    less = MemberList("0" * 64, 2, {name: each for name, each in whole.members.items() if name != "gpu-0"})
    used = dict.fromkeys((each.key for each in every.values()), 0)
    for _ in range(300):
        device = new_key_pair().public
        before, behind = whole.candidates(device, "m"), less.candidates(device, "m")
        assert len(before) == len({each.key for each in before}) == CANDIDATES
        assert every["gpu-0"] in before or before == behind
        assert {each.key for each in before} - {each.key for each in behind} <= {every["gpu-0"].key}
        for each in before:
            used[each.key] += 1
    assert min(used.values()) > 300 * CANDIDATES / len(every) / 2


def test_a_device_with_another_model_uses_any_if_it_can_answer_by_words() -> None:
    """And none if it cannot; one whose model is in the list uses those alone."""
    listed = MemberList("0" * 64, 1, members(3))
    device = new_key_pair().public
    assert listed.candidates(device, "mine") == []
    assert len(listed.candidates(device, "mine", by_words=True)) == CANDIDATES
    assert listed.candidates(device, "m", by_words=True) == listed.candidates(device, "m")


class FakeLink:
    """A link as far as the choice between two knows it."""

    def __init__(self, load: int = 0, *, up: bool = True, draining: bool = False) -> None:
        self.load, self.up, self.draining, self.reason = load, up, draining, None


def test_a_session_begins_with_the_less_loaded_daemon_that_takes_it() -> None:
    """By the share of its places that is taken; one that is away, drains or was busy takes none."""
    cluster = Cluster()
    small, large = (CloudLink(FakeLink(load), "", capacity) for load, capacity in ((2, 4), (6, 16)))  # type: ignore[arg-type]
    cluster.links = (small, large)
    assert cluster.least_loaded() is large
    peer, moves = cluster.peer(), list[bool]()
    busy = Refused(session=bytes(16), epoch=0, code="busy", text="full", retry_after_s=60.0)
    assert peer.is_elsewhere(Received(large.link, b"", busy, ""), lambda up, _: moves.append(up))
    assert (cluster.least_loaded(), peer.link, moves) == (small, small.link, [False, True])
    for state in ({"up": False}, {"draining": True}):
        small.link = FakeLink(**state)  # type: ignore[assignment, arg-type]
        assert cluster.least_loaded() is None
        assert cluster.peer().link is (small.link if small.link.up else large.link)


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str | None]]:
    """Every tcp endpoint that a socket is opened for, and the key that it must have."""
    seen: set[tuple[str, str | None]] = set()
    opened = SocketSet.open

    def watched(self: SocketSet, kind: SocketType, endpoint: str, *rest: Any) -> Any:
        if endpoint.startswith("tcp://"):
            seen.add((endpoint, rest[1]))
        return opened(self, kind, endpoint, *rest)

    monkeypatch.setattr(SocketSet, "open", watched)
    return seen


def test_nobody_is_dialled_but_who_is_in_the_signed_list(
    owner: Path, tmp_path: Path, tiny_models: dict[str, Path], dialled: set[tuple[str, str | None]]
) -> None:
    """Whatever is written in its place: an older list, another owner's, one that is changed; nor who has left it."""
    keys, model = tmp_path / "keys", exact(name=str(tiny_models["device"]))
    fingerprint = TransformersModel(model, "device").fingerprint
    write_own(keys, new_key_pair())
    sign(owner, members(3, fingerprint))
    texts = [(owner / FILE).read_text()]
    take(keys, texts[0])
    new_owner(tmp_path / "other")
    for _ in range(9):
        sign(tmp_path / "other", members(3, fingerprint))
    at = {name: f"ipc://{tmp_path}/{name}" for name in ("endpoint", "retrieval")}
    composition = CompositionSettings(model="")
    device = DeviceDaemon(DeviceSettings(**at, cloud=BY_LIST, keys=str(keys), model=model, composition=composition))
    try:
        for _ in range(3):
            listed = {(each.endpoint, each.key) for each in parse(texts[-1], "it").members.values()}
            wrong = [(tmp_path / "other" / FILE).read_text(), texts[-1].replace("127.0.0.1", "127.0.0.2"), *texts[:-1]]
            for text in [texts[-1], *wrong]:
                (keys / FILE).write_text(text)
                device.reload()
                device.bus.step(0.0)
                assert {(each.link.endpoint, each.key) for each in device.cluster.links} <= listed
            assert dialled <= listed
            assert len(dialled) == CANDIDATES
            sign(owner, members(3, fingerprint))
            texts.append((owner / FILE).read_text())
            dialled.clear()
    finally:
        device.close()
