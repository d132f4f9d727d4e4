"""A cloud and devices in one folder: what is written, and what a picture and a calibration make of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hocket_bus import config
from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.messages import Subgraph
from hocket_bus.trust.keys import Keys
from hocket_bus.trust.sealing import SealingKey
from hocket_daemon.config import CloudSettings, DeviceSettings
from hocket_tools.graph import calibrating, picture
from hocket_tools.pair import trial
from hocket_tools.pair.home import Home

SUMMARY = "Names: Halcyon; Inge Thorsen.\nTopics: berth.\nTogether: Halcyon – Inge Thorsen; Halcyon – berth."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "trial")
    trial.prepare(home, 3)
    return home


def test_the_cloud_names_its_devices_and_each_knows_the_cloud(home: Home) -> None:
    """Keys, groups and addresses fit; both classes of data are on."""
    cloud = config.load(home.config("cloud"), CloudSettings)
    names = ["device-1", "device-2", "device-3"]
    assert cloud.federation.groups == {trial.GROUP: names}
    known = Keys(home.at / "keys")
    assert [device.at.name for device in trial.devices(home)] == names
    for device in trial.devices(home):
        settings = config.load(device.config("device"), DeviceSettings)
        own = Keys(device.at / "keys")
        assert (settings.cloud, settings.name) == (cloud.endpoint, device.at.name)
        assert (settings.egress.summaries, settings.egress.evidence) == (True, True)
        assert known.name_of(own.own.public) == device.at.name
        assert known.may(device.at.name) == {"pair"}
        assert own.server_key(cloud.endpoint) == known.own.public
    assert [each.at for each in trial.members(home)] == [home.at, *(each.at for each in trial.devices(home))]


def test_it_is_made_once_and_beside_nothing_else(home: Home, tmp_path: Path) -> None:
    """The same number changes nothing; another one, or a pair that is there, is one clear line."""
    before = home.config("cloud").read_text()
    trial.prepare(home, 3)
    assert home.config("cloud").read_text() == before
    with pytest.raises(BadConfiguration, match="has 3 devices already"):
        trial.prepare(home, 2)
    pair = Home(tmp_path / "pair")
    pair.prepare()
    with pytest.raises(BadConfiguration, match="has a pair already"):
        trial.prepare(pair, 2)
    assert not trial.is_trial(pair)


def test_a_device_may_reach_its_cloud_by_another_address(home: Home) -> None:
    """The key stays."""
    device = trial.devices(home)[0]
    trial.dial(device, home.listening("cloud"), "tcp://127.0.0.1:9")
    assert device.peer() == "tcp://127.0.0.1:9"
    assert Keys(device.at / "keys").server_key("tcp://127.0.0.1:9") == Keys(home.at / "keys").own.public


def test_sharing_is_stopped_in_the_file(home: Home) -> None:
    """What else stands there stays."""
    device = trial.devices(home)[0]
    device.stop_sharing()
    settings = config.load(device.config("device"), DeviceSettings)
    assert (settings.egress.summaries, settings.egress.evidence) == (False, True)


def test_a_picture_shows_what_may_leave(tmp_path: Path) -> None:
    """Names and who stands together; parts of which nothing may leave are left out."""
    shown = Subgraph(id=1, version=1, entities=3, documents=1, summary=SUMMARY)
    hidden = Subgraph(id=2, version=1, entities=9, documents=1, summary="")
    (part,) = picture.parts([shown, hidden])
    assert part.names == ["Halcyon", "Inge Thorsen", "berth"]
    assert part.pairs == [("Halcyon", "Inge Thorsen"), ("Halcyon", "berth")]
    for name in ("graph.png", "graph.html"):
        picture.draw(tmp_path / name, [shown, hidden], "a <title>")
        assert (tmp_path / name).stat().st_size > 1_000
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert "a &lt;title&gt;" in page
    assert "src=" not in page
    with pytest.raises(BadRequest, match=r"end it in \.png or \.html"):
        picture.draw(tmp_path / "graph.gif", [shown], "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has 0 questions"),
        ('{"question": "Who?"}\n' * 3, "has 3 questions"),
        ("no json", "line 1 is not a question"),
        ('{"question": "Who?"}\n[1]', "line 2 is not a question"),
    ],
)
def test_questions_that_cannot_be_used_are_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    """With what to write instead."""
    path = tmp_path / "questions.jsonl"
    path.write_text(text)
    with pytest.raises(BadRequest, match=said):
        calibrating.read(path)


def test_questions_are_read_with_the_document_that_answers(tmp_path: Path) -> None:
    """None where none is named."""
    path = tmp_path / "questions.jsonl"
    rows = [{"question": f"Question {n}?", "document": "a.txt" if n % 2 else ""} for n in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    found = calibrating.read(path)
    assert [each.document for each in found[:2]] == ["", "a.txt"]
    assert len(found) == 20


def test_the_devices_of_a_trial_have_pinned_each_other_by_hand(home: Home) -> None:
    """By the keys that they will show, and nobody else: so drafts_for = ["*"] means them."""
    devices = trial.devices(home)
    keys = {each.at.name: SealingKey.of_secret(Keys(each.at / "keys").own.secret).public for each in devices}
    for device in devices:
        pins, others = device.pins(), {name: key for name, key in keys.items() if name != device.at.name}
        assert {*pins.by_hand()} == {*others}
        assert all(pins.is_by_hand(name, key) and pins.check(name, key) for name, key in others.items())
