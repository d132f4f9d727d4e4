"""Key files and the judgement over a connection: fail closed, say what to do, lose nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from zmq.utils import z85 as reference

from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.sockets import new_key_pair
from hocket_bus.trust import zap
from hocket_bus.trust.keys import (
    PEERS,
    SECRET,
    KeyPair,
    Keys,
    Peer,
    fingerprint,
    read_peers,
    write_own,
    write_peers,
    z85,
)


def made(folder: Path, **peers: Peer) -> Keys:
    write_own(folder, new_key_pair())
    write_peers(folder, peers)
    return Keys(folder)


def request(key: bytes, *, domain: bytes = zap.DOMAIN, mechanism: bytes = b"CURVE") -> list[bytes]:
    return [b"1.0", b"7", domain, b"192.0.2.1", b"", mechanism, key]


def test_z85_is_the_encoding_of_zeromq() -> None:
    """The same text as libzmq makes, for any bytes."""
    rng = random.Random(1)
    for _ in range(200):
        raw = rng.randbytes(32)
        assert z85(raw) == reference.encode(raw).decode()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Own keys and peers survive the files, and nobody else can read these."""
    odd = "tcp://[fe80::1%'\\\"]:7000"
    peers = {"server": Peer(new_key_pair().public, "tcp://server:7000"), "a.b-c_d": Peer(new_key_pair().public)}
    peers["odd"] = Peer(new_key_pair().public, odd)
    keys = made(tmp_path / "keys", **peers)
    assert keys.peers == peers
    assert keys.server_key("tcp://server:7000") == peers["server"].key
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (tmp_path / "keys").iterdir())


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    """The second `new` is refused and the first key stays."""
    keys = made(tmp_path)
    with pytest.raises(BadRequest, match="lock this machine out"):
        write_own(tmp_path, new_key_pair())
    assert Keys(tmp_path).own == keys.own


def test_files_that_others_can_read_are_refused(tmp_path: Path) -> None:
    """With the command that mends it; a group may read whom this machine knows, and change nothing."""
    made(tmp_path)
    for file, mode, remedy in ((SECRET, 0o640, "chmod 600"), (PEERS, 0o660, "chmod 640"), (PEERS, 0o644, "chmod 640")):
        (tmp_path / file).chmod(mode)
        with pytest.raises(BadConfiguration, match=remedy):
            Keys(tmp_path)
        (tmp_path / file).chmod(0o600)
    (tmp_path / PEERS).chmod(0o640)
    Keys(tmp_path)


def test_the_group_that_may_read_the_peers_still_may_after_a_change(tmp_path: Path) -> None:
    """`hocket keys allow`, run by root, keeps the file readable for the service."""
    made(tmp_path)
    (tmp_path / PEERS).chmod(0o640)
    write_peers(tmp_path, {"laptop": Peer(new_key_pair().public)})
    assert (tmp_path / PEERS).stat().st_mode & 0o777 == 0o640


def test_a_secret_that_systemd_hands_over_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mode; whom this machine knows is read from the folder, where it can change while the daemon runs."""
    keys, handed = made(tmp_path / "keys", laptop=Peer(new_key_pair().public)), made(tmp_path / "credentials")
    (tmp_path / "credentials" / SECRET).chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    assert Keys(tmp_path / "keys").own == handed.own
    assert list(Keys(tmp_path / "keys").peers) == list(keys.peers) == ["laptop"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "public"), ("public = 3", "public"), (f"public = '{'x' * 40}'\nsecret = '{' ' * 40}'", "not a public key")],
)
def test_a_damaged_key_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    """Whatever stands in it."""
    (tmp_path / SECRET).write_text(text)
    (tmp_path / SECRET).chmod(0o600)
    with pytest.raises((BadConfiguration, BadRequest), match=message):
        Keys(tmp_path)


def test_names_and_keys_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    """A bad peer leaves the good ones."""
    made(tmp_path, good=Peer(new_key_pair().public))
    for name, key in (("../x", new_key_pair().public), ("x", "short"), ("x", "'" * 40)):
        with pytest.raises(BadRequest):
            write_peers(tmp_path, read_peers(tmp_path) | {name: Peer(key)})
    assert list(read_peers(tmp_path)) == ["good"]


def test_an_unknown_server_is_not_connected_to(tmp_path: Path) -> None:
    """The error names the commands for both machines."""
    with pytest.raises(BadConfiguration, match=r"hocket keys show.*hocket keys allow NAME KEY --at tcp://far:7000"):
        made(tmp_path).server_key("tcp://far:7000")


def test_fingerprints_differ_and_are_short() -> None:
    """Five groups of four characters."""
    prints = {fingerprint(new_key_pair().public) for _ in range(50)}
    assert len(prints) == 50
    assert all([len(group) for group in each.split("-")] == [4] * 5 for each in prints)


def test_only_allowed_keys_are_let_in_and_under_their_name(tmp_path: Path) -> None:
    """200 with the name for an allowed key, 400 for every other one, also after it was revoked."""
    friend, stranger = new_key_pair().public, new_key_pair().public
    keys = made(tmp_path, laptop=Peer(friend))
    raw = reference.decode
    assert zap.answer(request(raw(friend)), keys) == [b"1.0", b"7", b"200", b"OK", b"laptop", b""]
    assert zap.answer(request(raw(stranger)), keys)[2] == b"400"
    write_peers(tmp_path, {})
    keys.reload()
    assert zap.answer(request(raw(friend)), keys)[2] == b"400"


def test_anything_but_curve_in_our_domain_is_refused(tmp_path: Path) -> None:
    """NULL, PLAIN and other domains get 400; a request that is none gets 300, and the handler lives on."""
    friend = new_key_pair().public
    keys = made(tmp_path, laptop=Peer(friend))
    key = reference.decode(friend)
    assert zap.answer(request(key, mechanism=b"NULL"), keys)[2] == b"400"
    assert zap.answer(request(key, mechanism=b"PLAIN"), keys)[2] == b"400"
    assert zap.answer(request(key, domain=b"other"), keys)[2] == b"400"
    assert zap.answer([*request(key), b"more"], keys)[2] == b"400"
    for frames in ([], [b"1.0"], request(key)[:4]):
        assert zap.answer(frames, keys)[2] == b"300"
    assert zap.answer(request(key), keys)[2] == b"200"


def test_a_handler_that_fails_says_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 lets the other end try again; nobody is let in meanwhile."""
    keys = made(tmp_path)
    monkeypatch.setattr(keys, "name_of", lambda _: 1 / 0)
    assert zap.answer(request(bytes(32)), keys)[2] == b"300"


def test_secrets_do_not_show(tmp_path: Path) -> None:
    """A key pair can be logged by mistake without giving the secret away."""
    own = new_key_pair()
    assert isinstance(own, KeyPair)
    assert own.secret not in repr(own)
