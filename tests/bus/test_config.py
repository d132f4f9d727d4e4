"""Configuration files: every mistake is one line that names it and the remedy."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from hocket_bus.config import load
from hocket_bus.errors import BadConfiguration
from hocket_daemon.config import DeviceSettings

GOOD = 'endpoint = "ipc:///tmp/a"\nretrieval = "ipc:///tmp/b"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "device.toml"
    path.write_text(text)
    return path


def test_a_good_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    """Given keys win, others keep the record's defaults."""
    settings = load(
        write(tmp_path, GOOD + "[model]\nslots = 3\n[expert]\nmodel.prefill_tokens = 7\ndrain_s = 1\n"), DeviceSettings
    )
    assert (settings.model.slots, settings.model.name, settings.aggregation.wire_mass) == (3, "auto", 0.98)
    assert (settings.model.prefill_tokens, settings.drain_s) == (7, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "[aggregation]\nwire_mas = 0.9\n", "unknown key 'aggregation.wire_mas': did you mean 'wire_mass'"),
        (GOOD + "[model]\nslotz = 3\n", "unknown key 'model.slotz': did you mean 'slots'"),
        (GOOD + "[expert]\naggregation.wire_mass = 2\n", "wire_mass"),
        (GOOD + "[aggregation]\nwire_mass = 0.9\n", "belongs in [expert]: put it there: aggregation.wire_mass"),
        (GOOD + "[expert]\nmodel.slots = 3\n", "does not belong in [expert]: write under [model]: slots"),
        (GOOD + "[expert]\naggregation.wire_mas = 3\n", "unknown key 'aggregation.wire_mas': did you mean 'wire_mass'"),
        (GOOD + "[expert]\nwire.mass = 3\n", "unknown key 'wire'"),
        (GOOD + "expert = 3\n", "'expert' is a table: write [expert]"),
        (GOOD + "aggregation = 3\n[expert]\naggregation.wire_mass = 0.5\n", "aggregation"),
        (GOOD + "[model]\nslots = 0\n", "slots"),
        (GOOD + "[model]\ncontext = 0\n", "context"),
        (GOOD + "[model]\nthreads = -1\n", "threads"),
        (GOOD + "max_sessions = 'many'\n", "max_sessions"),
        ("endpoint = 'x'\n", "retrieval"),
        ("endpoint = \n", "fix the file"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, expected: str) -> None:
    """The file, the key and what to do stand in one line."""
    with pytest.raises(BadConfiguration, match="device.toml") as caught:
        load(write(tmp_path, text), DeviceSettings)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_is_read_whatever_editor_saved_it(tmp_path: Path, mark: bytes, end: str) -> None:
    """With a byte order mark or without, with either end of line."""
    path = tmp_path / "device.toml"
    path.write_bytes(mark + GOOD.replace("\n", end).encode())
    assert load(path, DeviceSettings) == load(write(tmp_path, GOOD), DeviceSettings)


def test_another_encoding_is_named_with_its_remedy(tmp_path: Path) -> None:
    """As an editor that saves "Unicode" writes it."""
    path = tmp_path / "device.toml"
    path.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(BadConfiguration, match=r"device.toml is not UTF-8: .*: save it as UTF-8"):
        load(path, DeviceSettings)


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    """The remedy is a command."""
    with pytest.raises(BadConfiguration, match="hocket up"):
        load(tmp_path / "none.toml", DeviceSettings)


def test_paths_begin_at_the_files_folder(tmp_path: Path) -> None:
    """Wherever the program runs; whole paths, tcp endpoints, names and what is no endpoint stand as they are."""
    text = 'endpoint = "ipc://run/a"\nretrieval = "its own"\ncloud = "tcp://host:7"\ndecisions = "kept.db"\n'
    text += 'name = "anna/laptop"\n[kv]\nfolder = "/var/kv"\n[egress]\nledger = ""\n'
    settings = load(write(tmp_path, text), DeviceSettings)
    assert settings.endpoint == f"ipc://{tmp_path}/run/a"
    assert settings.decisions == str(tmp_path / "kept.db")
    assert (settings.retrieval, settings.cloud, settings.kv.folder) == ("its own", "tcp://host:7", "/var/kv")
    assert (settings.egress.ledger, settings.name) == ("", "anna/laptop")
