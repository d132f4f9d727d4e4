"""Laws of one side a machine: init writes that side alone, a code gives what it says and nothing more."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from exact import table
from hocket_bus.errors import BadRequest
from hocket_bus.trust.keys import Keys
from hocket_daemon.roles.membership import BY_LIST, FILE, CloudMember, entry_lines
from hocket_tools.commands.daemons.pair import START_S
from hocket_tools.main import CONFIGURATION, USAGE, run
from hocket_tools.pair import processes
from hocket_tools.pair.code import Code
from hocket_tools.pair.home import NAMES, Home
from ports import free_port
from waiting import WAIT_S

KEY = "k" * 40


@pytest.fixture
def sides() -> Iterator[dict[str, Home]]:
    """Two homes as on two machines, each made one side; their paths are short, since they hold sockets."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        homes = {side: Home(Path(folder) / side) for side in ("device", "cloud")}
        at = f"tcp://127.0.0.1:{free_port()}"
        assert run(["init", "device", "--home", str(homes["device"].at)]) == 0
        assert run(["init", "cloud", "--at", at, "--home", str(homes["cloud"].at)]) == 0
        yield homes


def code_of(home: Home, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["pair", "--home", str(home.at)]) == 0
    (found,) = re.findall(r"hocket1-[\w-]+", capsys.readouterr().out)
    return str(found)


def test_a_code_is_read_as_written_and_whole_or_not_at_all() -> None:
    """Wherever it is cut or changed; line breaks that a messenger puts in do no harm."""
    code = Code("anna-device", KEY, "tcp://server.example:7100")
    word = code.written()
    assert re.fullmatch(r"[\w-]+", word)
    assert Code.read(f" {word[:30]}\n{word[30:]} ") == code
    broken = [word[:end] for end in range(len(word))]
    broken += [word[:at] + ("A" if word[at] != "A" else "B") + word[at + 1 :] for at in range(len(word) - 1)]
    for text in [*broken, "hocket1-é", Code("a\x1bb", KEY).written()]:
        with pytest.raises(BadRequest, match="not a complete pairing code"):
            Code.read(text)
    for endpoint in ("tcp://nowhere", "ipc:///tmp/here", "tcp://server\n[peers.x]:7100"):
        with pytest.raises(BadRequest, match="not a complete pairing code"):
            Code.read(Code("a", KEY, endpoint).written())


def test_init_makes_one_side_and_keeps_what_is_there(sides: dict[str, Home]) -> None:
    """Two files and a key a side, different names, and nothing of the other side; another address is refused."""
    for side, home in sides.items():
        assert home.names == tuple(name for name in NAMES if name.startswith(side))
        assert home.side() == side
        assert home.name(side).endswith(f"-{side}")
        before = {path: path.read_bytes() for path in home.at.rglob("*.toml")}
        assert len(before) == (4 if side == "cloud" else 3)
        at = ["--at", home.listening("cloud")] if side == "cloud" else []
        assert run(["init", side, *at, "--home", str(home.at)]) == 0
        home.prepare()
        assert before == {path: path.read_bytes() for path in home.at.rglob("*.toml")}
    assert run(["init", "cloud", "--at", "tcp://127.0.0.1:1", "--home", str(sides["cloud"].at)]) == 2


@pytest.mark.parametrize("wrong", [["cloud"], ["cloud", "--at", "ipc:///x"], ["device", "--at", "tcp://127.0.0.1:1"]])
def test_init_wants_an_address_of_a_cloud_alone(wrong: list[str], tmp_path: Path) -> None:
    """A usage error, and nothing is written."""
    assert run(["init", *wrong, "--home", str(tmp_path / "h")]) == 2
    assert not (tmp_path / "h").exists()


def test_codes_give_each_side_its_right_and_no_other(
    sides: dict[str, Home], capsys: pytest.CaptureFixture[str]
) -> None:
    """The device may pair at the cloud; the cloud may be dialled, and is the device's cloud from then on."""
    device, cloud = sides["device"], sides["cloud"]
    codes = {side: code_of(home, capsys) for side, home in sides.items()}
    assert run(["pair", codes["cloud"], "--home", str(device.at)]) == 0
    assert "has no rights here" in capsys.readouterr().out
    assert run(["pair", codes["device"], "--home", str(cloud.at)]) == 0
    assert "only run sessions for its own questions here" in capsys.readouterr().out
    known = {side: Keys(home.at / "keys") for side, home in sides.items()}
    (dialled,) = known["device"].peers.values()
    (paired,) = (peer for name, peer in known["cloud"].peers.items() if name != "self")
    assert known["cloud"].peers["self"].rights == {"dial", "watch", "drain"}
    assert (dialled.key, dialled.endpoint) == (known["cloud"].own.public, cloud.listening("cloud"))
    assert (paired.key, paired.endpoint) == (known["device"].own.public, "")
    assert (set(dialled.rights), set(paired.rights)) == ({"dial"}, {"pair"})
    assert device.peer() == cloud.listening("cloud")


def test_a_code_that_does_not_fit_changes_nothing(sides: dict[str, Home], capsys: pytest.CaptureFixture[str]) -> None:
    """The own one, one of the same side, one of another machine by a name that is taken."""
    device = sides["device"]
    assert run(["pair", code_of(sides["cloud"], capsys), "--home", str(device.at)]) == 0
    before = {path: path.read_bytes() for path in device.at.rglob("*.toml")}
    (name,) = Keys(device.at / "keys").peers
    for code in (code_of(device, capsys), Code(name, KEY, "tcp://127.0.0.1:1").written(), Code("other", KEY).written()):
        assert run(["pair", code, "--home", str(device.at)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert before == {path: path.read_bytes() for path in device.at.rglob("*.toml")}


def test_where_there_are_files_of_both_sides_one_is_named(
    sides: dict[str, Home], capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a server with the units of both: it is not guessed which one this machine is. A cloud may ask itself."""
    word = code_of(sides["device"], capsys)
    both = sides["cloud"]
    both.config("device").write_text('endpoint = "ipc:///tmp/x"\n')
    (both.at / "keys" / "peers.toml").unlink()
    assert run(["pair", word, "--home", str(both.at)]) == 78
    assert "--side device, or --side cloud" in capsys.readouterr().err
    assert run(["pair", word, "--side", "cloud", "--home", str(both.at)]) == 0
    known = Keys(both.at / "keys")
    assert known.peers["self"].endpoint == both.listening("cloud")
    assert known.peers["self"].rights == {"dial", "watch", "drain"}
    assert len(known.peers) == 2


def test_a_named_cloud_replaces_the_line_that_is_there(tmp_path: Path) -> None:
    """Or comes before all tables; a key of that name in a table is another."""
    home = Home(tmp_path)
    for head in ('cloud = "ipc:///old"\n', "#cloud = ''\n", "endpoint = 'ipc:///x'\n", ""):
        home.config("device").write_text(f"{head}\n[egress]\ncloud = 1\n" if head else "[egress]\ncloud = 1\n")
        home.set_peer("tcp://server:7100")
        assert home.peer() == "tcp://server:7100"
        assert home.config("device").read_text().endswith("[egress]\ncloud = 1\n")


def test_a_file_that_is_changed_is_saved_as_its_user_wrote_it(tmp_path: Path) -> None:
    """With its byte order mark, its ends of lines, its rights and the link that leads to it; it is read on."""
    home, real = Home(tmp_path / "home"), tmp_path / "real.toml"
    home.at.mkdir()
    home.config("device").symlink_to(real)
    text = "endpoint = 'ipc:///x'\r\n# Änne's\r\ncloud = ''\r\n[egress]\r\nsummaries = true\r\n"
    real.write_bytes(b"\xef\xbb\xbf" + text.encode())
    real.chmod(0o644)
    home.set_peer("tcp://server:7100")
    home.stop_sharing()
    changed = text.replace("cloud = ''", 'cloud = "tcp://server:7100"').replace("true", "false")
    assert real.read_bytes() == b"\xef\xbb\xbf" + changed.encode()
    assert home.peer() == "tcp://server:7100"
    assert real.stat().st_mode & 0o777 == 0o644
    assert home.config("device").is_symlink()


@pytest.mark.long
@pytest.mark.programs
@pytest.mark.timeout(START_S + 2 * WAIT_S)
def test_init_pair_up_and_ask(
    sides: dict[str, Home], tiny_models: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two commands a machine and one code each way; then both answer, and status at each shows that side alone."""
    try:
        for side, home in sides.items():
            text = home.config(side).read_text()
            home.config(side).write_text(text.replace("[model]\n", table(tiny_models[side], context=512)))
        codes = {side: code_of(home, capsys) for side, home in sides.items()}
        assert run(["pair", codes["cloud"], "--home", str(sides["device"].at)]) == 0
        assert run(["pair", codes["device"], "--home", str(sides["cloud"].at)]) == 0
        for side in ("cloud", "device"):
            assert run(["up", "--home", str(sides[side].at)]) == 0
            assert run(["status", "--home", str(sides[side].at)]) == 0
        where = ["--home", str(sides["device"].at)]
        assert run(["ask", *where, "--require-cloud", "--documents", "0", "--max-tokens", "4", "Where?"]) == 0
    finally:
        for home in sides.values():
            processes.stop(home, list(NAMES))


def test_a_list_goes_from_its_owner_to_a_device(
    sides: dict[str, Home], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signed where its owner's key is and nowhere else; the device shows whose it is, and is with it from then on."""
    cloud, device, owner = sides["cloud"], sides["device"], ["--home", str(tmp_path / "owner")]
    key = Keys(cloud.at / "keys").own.public
    listed = tmp_path / "list.toml"
    listed.write_text("\n".join(entry_lines("gpu", CloudMember(cloud.advertised(), key, "m", 8))))
    assert run(["members", "sign", str(listed), *owner]) == CONFIGURATION
    assert run(["members", "new", *owner]) == 0
    assert run(["members", "new", *owner]) == USAGE
    assert run(["members", "sign", str(listed), *owner]) == 0
    signed = str(tmp_path / "owner" / "keys" / FILE)
    for _ in range(2):
        capsys.readouterr()
        assert run(["members", "take", signed, "--home", str(device.at)]) == 0
        assert cloud.advertised() in capsys.readouterr().out
    assert device.peer() == BY_LIST
    Path(signed).write_text(Path(signed).read_text().replace("capacity = 8", "capacity = 9"))
    assert run(["members", "take", signed, "--home", str(device.at)]) == CONFIGURATION
