"""Laws of pinned keys: the first one of a device stays until it is forgotten, and no file is half written or open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hocket_bus.errors import BadConfiguration, BadMessage, BadRequest, Forbidden, Unavailable
from hocket_bus.trust.pins import FILE, MAX_PINS, Pins, fingerprint
from hocket_bus.trust.sealing import SealingKey
from waiting import WAIT_S

FIRST, SECOND = (SealingKey.of_secret(each * 40).public for each in "ab")


@pytest.fixture(params=["file", "memory"])
def pins(request: pytest.FixtureRequest, tmp_path: Path) -> Pins:
    return Pins(tmp_path / "deep" / FILE if request.param == "file" else None)


def test_the_first_key_stays(pins: Pins) -> None:
    """It is new once, another one is refused with both fingerprints and the remedy, and nothing changes by that."""
    assert pins.names() == {}
    assert pins.check("ben", FIRST)
    for _ in range(2):
        assert not pins.check("ben", FIRST)
        with pytest.raises(Forbidden, match="the key of ben has changed") as refusal:
            pins.check("ben", SECOND)
        assert fingerprint(FIRST) in str(refusal.value)
        assert fingerprint(SECOND) in str(refusal.value)
        assert refusal.value.remedy == "compare fingerprints, then: hocket keys forget ben"
    assert pins.check("anna", SECOND)
    assert pins.names() == {"ben": FIRST, "anna": SECOND}


def test_a_key_that_is_forgotten_gives_way_to_the_next(pins: Pins) -> None:
    """Only that device's; who is not known cannot be forgotten."""
    pins.check("ben", FIRST)
    pins.check("anna", FIRST)
    pins.forget("ben")
    assert pins.names() == {"anna": FIRST}
    assert pins.check("ben", SECOND)
    assert pins.names() == {"anna": FIRST, "ben": SECOND}
    with pytest.raises(BadRequest, match="'eve'.*hocket keys list"):
        pins.forget("eve")


@pytest.mark.parametrize("name", ['it\'s "ben"', "x = 'y'", "a]b#c\\n", "Бен 本", "ben.key", "a b"])
def test_any_name_that_can_be_read_is_pinned(pins: Pins, name: str) -> None:
    """Whatever TOML or a shell makes of its characters."""
    assert pins.check(name, FIRST)
    assert not pins.check(name, FIRST)
    assert pins.names() == {name: FIRST}


@pytest.mark.parametrize(
    ("name", "public"),
    [("", FIRST), ("b" * 65, FIRST), ("b\nen", FIRST), ("\x1b[1m", FIRST), ("\udc80", FIRST), ("ben", FIRST[:-1])],
)
def test_what_is_no_name_or_no_key_is_not_pinned(pins: Pins, name: str, public: bytes) -> None:
    with pytest.raises(BadMessage):
        pins.check(name, public)
    assert pins.names() == {}


def test_a_flood_of_names_ends(tmp_path: Path) -> None:
    """Those that are known are still known."""
    pins = Pins(None)
    for number in range(MAX_PINS):
        pins.check(str(number), FIRST)
    with pytest.raises(Forbidden, match="hocket keys forget"):
        pins.check("one more", FIRST)
    assert not pins.check("7", FIRST)


def test_the_file_outlives_its_reader_and_is_its_owners_alone(tmp_path: Path) -> None:
    """Another reader has the same pins, and what a command changes a daemon that runs sees at once."""
    ledger = tmp_path / "device-ledger.db"
    running = Pins.beside(ledger)
    running.check("ben", FIRST)
    file = tmp_path / FILE
    assert {path.name for path in tmp_path.iterdir()} == {FILE, f".{FILE}.lock"}
    assert file.stat().st_mode & 0o777 == 0o600
    Pins(file).forget("ben")
    assert running.check("ben", SECOND)
    assert Pins(file).names() == {"ben": SECOND}


def test_a_file_that_others_may_change_or_that_has_no_keys_is_refused(tmp_path: Path) -> None:
    """With what mends it; it is not begun anew, which would pin whatever comes next."""
    file = tmp_path / FILE
    pins = Pins(file)
    pins.check("ben", FIRST)
    file.chmod(0o640)
    with pytest.raises(BadConfiguration, match="chmod 600"):
        pins.check("ben", FIRST)
    file.chmod(0o600)
    for text in ("[devices]\nben = 'xyz'\n", "[devices]\nben = 'abcd'\n", "devices = 1\n", "[devices", "[other]\n"):
        file.write_text(text)
        with pytest.raises(BadConfiguration):
            pins.check("ben", SECOND)
        assert file.read_text() == text


def test_where_a_pin_cannot_be_written_the_key_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(Unavailable, match="make its folder writable"):
        Pins(tmp_path / "folder" / FILE).check("ben", FIRST)


def test_a_device_is_pinned_by_hand_before_or_behind_its_first_key(pins: Pins) -> None:
    """Only the key of that fingerprint is by hand; another one is refused, be it the first."""
    pins.check("ben", FIRST)
    assert not pins.is_by_hand("ben", FIRST)
    pins.pin("ben", f" {fingerprint(FIRST).upper()} ")
    assert pins.is_by_hand("ben", FIRST)
    assert not pins.is_by_hand("ben", SECOND)
    pins.pin("anna", fingerprint(SECOND))
    with pytest.raises(Forbidden, match="hocket keys forget anna"):
        pins.check("anna", FIRST)
    assert pins.check("anna", SECOND)
    assert pins.is_by_hand("anna", SECOND)
    pins.forget("anna")
    assert {*pins.by_hand()} == {"ben"}


def test_what_does_not_fit_what_was_seen_is_not_pinned_by_hand(pins: Pins) -> None:
    pins.check("ben", FIRST)
    with pytest.raises(BadRequest, match="hocket keys forget ben"):
        pins.pin("ben", fingerprint(SECOND))
    for name, shown in (("", fingerprint(FIRST)), ("b\x1b[1m", fingerprint(FIRST)), ("eve", "abcd"), ("eve", "")):
        with pytest.raises(BadRequest, match="hocket keys show"):
            pins.pin(name, shown)
    assert pins.by_hand() == {}


def test_who_is_pinned_by_hand_has_a_place_in_a_full_file() -> None:
    pins = Pins(None)
    for number in range(MAX_PINS):
        pins.check(str(number), FIRST)
    pins.pin("ben", fingerprint(SECOND))
    assert pins.check("ben", SECOND)


def test_pins_of_several_programs_are_all_there(tmp_path: Path) -> None:
    """A daemon pins what it meets while a command forgets, and another pins by hand: nothing is lost between."""
    file, names = tmp_path / FILE, [f"device-{number}" for number in range(24)]
    Pins(file).check("old", FIRST)

    def change(name: str) -> None:
        Pins(file).check(name, FIRST)
        Pins(file).pin(f"{name} by hand", fingerprint(SECOND))

    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(change, name) for name in names] + [threads.submit(Pins(file).forget, "old")]
        for each in done:
            each.result(WAIT_S)
    assert set(Pins(file).names()) == set(names)
    assert set(Pins(file).by_hand()) == {f"{name} by hand" for name in names}
