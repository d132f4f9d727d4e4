"""Composing in a running pair: suggestions for the text as it stands, memory of both sides, and what leaves."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import UNMEASURED, WORDS, Pair, pair
from resting import come_to_rest

from exact import exact
from hocket_bus.errors import BadRequest, Busy, Cancelled
from hocket_bus.messages import (
    CLASS_OF,
    MAX_QUERY_WORDS,
    Compose,
    Edit,
    Error,
    Memory,
    MemoryRequest,
    Message,
    Remembered,
    Suggestion,
    Takeaway,
)
from hocket_bus.wire import decode
from hocket_client import AsyncClient, Composer
from hocket_client.connection import Connection
from hocket_daemon.composition import service
from hocket_daemon.composition.service import Composing
from hocket_daemon.composition.settings import CompositionSettings
from hocket_daemon.engine.settings import BUNDLED
from hocket_daemon.privacy.egress import EgressSettings, read
from hocket_daemon.serving.mode import FollowedSession, Peer
from hocket_lab.link.tap import Tap, messages
from waiting import WAIT_S, until

TEXT = "kala mira duno soretu limba"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hk") as name:
        yield Path(name)


def tapped(made: Pair, composition: CompositionSettings = UNMEASURED, **policy: bool) -> Tap:
    """A running pair with a tap in the wire and a ledger."""
    tap = made.stack.enter_context(Tap(made.endpoint("tap"), made.endpoint("cloud")))
    for side in ("device", "cloud"):
        made.start_retrieval(side)
    made.start_cloud()
    egress = EgressSettings(ledger=str(made.folder / "ledger"), **policy)
    made.start_device(link=made.endpoint("tap"), egress=egress, composition=composition)
    return tap


def left(tap: Tap) -> list[tuple[Message, int]]:
    """The messages that left the device, and their bytes."""
    frames = [each for recorded in tap.recorded() for each in messages(recorded)]
    return [(decode(each), sum(map(len, each))) for each in frames]


def stopped(made: Pair, tap: Tap) -> None:
    """All that the device has sent is recorded, and nothing more will be."""
    assert made.device is not None
    made.device.stop()
    until(tap.ended)


def requests(tap: Tap) -> list[MemoryRequest]:
    return [message for message, _ in left(tap) if isinstance(message, MemoryRequest)]


def linked(made: Pair) -> None:
    """Wait until the device has its cloud."""
    until(lambda: any(peer is not None and peer.up for peer in peers(made)))


def suggested(composer: Composer) -> Suggestion:
    found = composer.wait(WAIT_S)
    assert found is not None
    assert found.version == composer.version
    return found


def remembered(composer: Composer, *sides: str) -> list[Remembered]:
    """Read on until every side has been heard of."""
    found: list[Remembered] = []
    for event in composer.events(WAIT_S):
        found += [event] if isinstance(event, Remembered) else []
        if {each.side for each in found} >= set(sides):
            return found
    raise AssertionError(found)


def typed(composer: Composer, text: str) -> None:
    for letter in text:
        composer.update(composer.text + letter)
        suggested(composer)


def test_a_text_is_completed_from_the_memory_of_both_sides(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models) as made:
        linked(made)
        with made.client().compose(TEXT) as composer:
            first = suggested(composer)
            assert {each.side for each in remembered(composer, "device", "cloud")} == {"device", "cloud"}
            until(lambda: composer.suggestion is not None and composer.suggestion.memory_age_s > 0)
            renewed = suggested(composer)
            assert renewed.version == first.version
            typed(composer, " tano")
            text = composer.text
            taken = composer.accept()
            assert composer.text == text + taken
            assert suggested(composer).version == composer.version


def test_the_first_that_is_waited_for_has_the_memory_that_was_asked_for(
    tiny_models: dict[str, Path], folder: Path
) -> None:
    """Nothing is typed and no event is read: the text is opened, and waited for once."""
    with pair(folder, tiny_models) as made:
        linked(made)
        for text in (TEXT, f"{TEXT} tano", f"mira {TEXT}"):
            with made.client().compose(text) as composer:
                first = suggested(composer)
                assert first.memory_age_s > 0
                assert composer.suggestion == first


def test_memory_that_does_not_come_is_not_waited_for_without_an_end(tiny_models: dict[str, Path], folder: Path) -> None:
    """The cloud has no documents at hand: the suggestion without memory is the answer."""
    with pair(folder, tiny_models, start=False) as made:
        made.start_cloud()
        made.start_device(composition=CompositionSettings(model="", confidence=0.0, own_documents=False))
        linked(made)
        with made.client().compose(TEXT) as composer:
            assert suggested(composer).memory_age_s == 0
            assert composer.settles_s == 0


@pytest.mark.slow
def test_what_is_typed_along_a_suggestion_is_not_computed_again(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models, start=False) as made:
        compute = made.start_device(model=exact(name=BUNDLED)).services.compute
        with made.client().compose("The village was first se", memory=False) as composer:
            for _ in range(40):
                shown = suggested(composer).text
                come_to_rest(compute)  # the writer reads
                composer.update(composer.text + (shown or ". ")[0])
                assert suggested(composer).passes == 0 or not shown
        assert len(composer.text) > 60


def test_a_text_that_stays_open_is_no_work(
    tiny_models: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a while without a change documents are read ahead, and a daemon that stops does not wait for it."""
    with pair(folder, tiny_models, start=False) as made:
        device = made.start_device()
        monkeypatch.setattr(service, "REST_S", WAIT_S)
        with made.client().compose(TEXT, memory=False) as composer:
            assert suggested(composer).memory_age_s == 0.0
            assert not device.idle()
            monkeypatch.setattr(service, "REST_S", 0.0)
            assert device.idle()
            monkeypatch.setattr(service, "REST_S", WAIT_S)
            composer.update(composer.text + " tano")
            suggested(composer)
            assert not device.idle()
        until(device.idle)


@pytest.mark.slow
def test_another_model_than_the_daemons_may_compose(tiny_models: dict[str, Path], folder: Path) -> None:
    """It suggests what it does as the daemon's own, and questions are still answered by that."""
    text = "The village was first settled"
    shown = []
    for options in (
        {"composition": CompositionSettings(model=BUNDLED, confidence=0.0)},
        {"model": exact(name=BUNDLED)},
    ):
        with pair(folder, tiny_models, start=False) as made:
            own = made.start_device(**options).services.model.name  # type: ignore[arg-type]
            client = made.client()
            with client.compose(text, memory=False) as composer:
                shown.append(suggested(composer).text)
            facts = client.status(WAIT_S).facts
            assert f"by {BUNDLED};" in facts["composition"]
            assert facts["model"] == own == (BUNDLED if "model" in options else str(tiny_models["device"]))
    assert shown[0] == shown[1] != ""


def test_the_same_for_asyncio(tiny_models: dict[str, Path], folder: Path) -> None:
    async def run(endpoint: str) -> str:
        async with AsyncClient(endpoint, connect_s=WAIT_S) as client, client.compose(TEXT, memory=False) as composer:
            composer.update(TEXT + " m")
            async for event in composer.events():
                if isinstance(event, Suggestion):
                    assert event.version == composer.version == 1
                    return composer.accept(1)
        raise AssertionError

    with pair(folder, tiny_models, start=False) as made:
        made.start_retrieval("device", documents=0)  # of memory it would depend when it comes
        made.start_device()
        taken = asyncio.run(asyncio.wait_for(run(made.endpoint("device")), WAIT_S))
        with made.client().compose(TEXT + " m", memory=False) as composer:
            suggested(composer)
            assert composer.accept(1) == taken


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.long)])
def test_queries_are_short_and_redacted_and_the_ledger_has_every_byte(
    tiny_models: dict[str, Path], folder: Path, count: int
) -> None:
    """Canaries of four kinds, typed between words; none is in what left."""
    chance = random.Random(5)
    with pair(folder, tiny_models, start=False) as made:
        tap = tapped(made, CompositionSettings(model="", confidence=0.0, distance=2, redact=(r"QX-\w+",)))
        linked(made)
        with made.client().compose() as composer:
            for _ in range(count):
                canary = chance.choice(
                    [f"a{chance.randrange(10**6)}@example.org", f"+46 {chance.randrange(10**6, 10**7)}",
                     f"{chance.randrange(10**9, 10**10)}", f"QX-{chance.randrange(10**6):x}"]
                )  # fmt: skip
                words = " ".join(chance.choices(WORDS, k=chance.choice([3, 6, 100])))
                composer.update(f"{composer.text} {words} {canary} {chance.choice(WORDS)}.")
                suggested(composer)
                until(lambda: not made.device or made.device.sessions.led_as(b"") is not None)
            until(lambda: len(requests(tap)) > 5)
        written = composer.text
        stopped(made, tap)
    found = requests(tap)
    assert all(len(each.query.split()) <= MAX_QUERY_WORDS for each in found)
    canaries = [word for word in written.split() if "@" in word or "QX-" in word or (len(word) > 6 and word.isdigit())]
    assert len(canaries) > 0.7 * count
    assert not any(canary in each.query for canary in canaries for each in found)
    sizes = sum(size for message, size in left(tap) if CLASS_OF[type(message)] == "memory")
    assert sizes == sum(entry.size_bytes for entry in read(folder / "ledger") if entry.kind == "memory")


def test_no_part_of_a_mail_address_leaves_while_it_is_typed(tiny_models: dict[str, Path], folder: Path) -> None:
    """Letter by letter, memory being asked for as often as it can be."""
    with pair(folder, tiny_models, start=False) as made:
        tap = tapped(made, CompositionSettings(model="", confidence=0.0, distance=0))
        linked(made)
        with made.client().compose("Please write soon") as composer:
            typed(composer, " to annalena.varga@example.org about kala mira duno")
            composer.update(composer.text + " " + "long" * 3_000 + " soretu limba tano")
            until(lambda: any("soretu" in each.query for each in requests(tap)))
        asked = " ".join(each.query for each in requests(tap))
    assert "about" in asked
    assert not any(part in asked for part in ("annal", "varga", "exampl"))


def test_without_memory_nothing_of_a_text_leaves(tiny_models: dict[str, Path], folder: Path) -> None:
    """The suggestions come of the device's own documents."""
    with pair(folder, tiny_models, start=False) as made:
        tap = tapped(made, memory=False)
        linked(made)
        with made.client().compose(TEXT) as composer:
            suggested(composer)
            assert {each.side for each in remembered(composer, "device")} == {"device"}
            until(lambda: composer.suggestion is not None and composer.suggestion.memory_age_s > 0)
        assert {CLASS_OF[type(message)] for message, _ in left(tap)} == {"control"}


def test_memory_needs_no_other_class_than_control(tiny_models: dict[str, Path], folder: Path) -> None:
    """Where questions are answered alone there is memory still; the answer says that it is the device's."""
    with pair(folder, tiny_models, start=False) as made:
        tap = tapped(made, query=False, drafts=False, targets=False)
        linked(made)
        with made.client().compose(TEXT) as composer:
            remembered(composer, "cloud")
        stream = made.client().ask("kala mira?", max_tokens=4, deadline_s=WAIT_S)
        assert stream.result().text is not None
        assert any("[egress] keeps" in notice for notice in stream.notices)
        assert {CLASS_OF[type(message)] for message, _ in left(tap)} == {"control", "memory"}


def test_a_session_outlives_the_device_daemon(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models, start=False) as made:
        made.start_retrieval("device", documents=0)  # memory comes when it comes, and changes what is suggested
        first = made.start_device()
        with made.client().compose(TEXT) as composer:
            before = suggested(composer).text
            first.stop()
            until(lambda: not first.bus._running)
            composer.update(TEXT + " s")
            made.start_device()
            assert suggested(composer).version == 1
            composer.update(TEXT)
            assert suggested(composer).text == before


def test_a_megabyte_storms_and_other_scripts(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models) as made, made.client().compose() as composer:
        whole = " ".join(WORDS) + "\n"
        composer.update(whole * (989_000 // len(whole)))
        suggested(composer)
        for text in (TEXT, "", "שלום עולם " * 40, "👩‍👩‍👧‍👦 é\u0301 東京は", "\n" * 500, " " * 900, "x" * 3_000, TEXT):
            for _ in range(5):  # undone and done again, faster than anything is computed
                composer.update(text)
                composer.update("")
            composer.update(text, len(text) // 2)
            suggested(composer)
        with pytest.raises(BadRequest, match="limit"):
            composer.update("é" * 600_000)


def test_a_change_outside_the_text_costs_one_line_and_nothing_else(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models) as made, made.client().compose(TEXT) as composer:
        suggested(composer)
        with pytest.raises(BadRequest, match="the cursor is at 99"):
            composer.update(TEXT, 99)
        heard: list[Message] = []
        connection = Connection(made.endpoint("device"), None)
        made.stack.callback(connection.close)
        connection.wait_up(WAIT_S)
        request = os.urandom(16)
        connection.expect(request, heard.append)
        connection.send(Compose(request=request, topic=connection.topic, version=0, text="ab", cursor=3))
        until(lambda: bool(heard))
        assert isinstance(heard[0], Error)
        assert "the cursor is at 3" in heard[0].text
        connection.send(Compose(request=request, topic=connection.topic, version=0, text="ab", cursor=2))
        until(lambda: isinstance(heard[-1], Suggestion))
        connection.send(Edit(request=request, base=0, version=1, at=7, removed=9, inserted="", cursor=0))
        until(lambda: isinstance(heard[-1], Error))
        connection.send(Edit(request=request, base=0, version=1, at=2, removed=0, inserted="c", cursor=3))
        until(lambda: isinstance(heard[-1], Suggestion) and heard[-1].version == 1)
        assert suggested(composer).version == composer.version


def test_a_full_device_says_busy_and_a_closed_text_frees_its_place(tiny_models: dict[str, Path], folder: Path) -> None:
    with pair(folder, tiny_models) as made:
        client = made.client()
        open_ = [client.compose(TEXT, memory=False) for _ in range(8)]
        for composer in open_:
            suggested(composer)
        with pytest.raises(Busy):
            client.compose(TEXT).wait(WAIT_S)
        open_.pop().close()
        assert made.device is not None
        until(lambda: made.device is not None and len(made.device.sessions) == 7)
        suggested(client.compose(TEXT, memory=False))
        client.close()
        with pytest.raises(Cancelled):
            for _ in open_[0].events():
                pass


def test_memory_that_nobody_asked_for_is_dropped(
    tiny_models: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloud that lies: unasked, twice, and more than a row could hold; then comes what it found, too late."""
    with pair(folder, tiny_models, start=False) as made:
        made.start_retrieval("device")
        cloud = made.start_cloud()
        made.start_retrieval("cloud")
        lies = [Takeaway(text="w " * 900, document="lie"), Takeaway(text="lie", document="lie")]
        mode = cloud.modes.peers["composition"]
        accept = mode.accept

        def lie(opening: Message, peer: Peer) -> FollowedSession:
            assert isinstance(opening, MemoryRequest)
            for session in (os.urandom(16), opening.session, opening.session):
                peer.send(Memory(session=session, takeaways=lies, generator="liar", seconds=0.0))
            return accept(opening, peer)

        monkeypatch.setattr(mode, "accept", lie)
        made.start_device()
        linked(made)
        with made.client().compose(TEXT) as composer:
            remembered(composer, "cloud")
            typed(composer, " mira duno")
            assert made.device is not None
            (entry,) = made.device.sessions.led.values()
            assert isinstance(entry.session, Composing)
            items = entry.session.remembered
            assert [item.takeaway.text for item in items if item.side == "cloud"] == ["lie"]
            assert sum(item.tokens for item in items) <= CompositionSettings().memory_tokens


@pytest.mark.slow
def test_a_cloud_that_comes_and_goes_costs_no_suggestion(tiny_models: dict[str, Path], folder: Path) -> None:
    """The link breaks between and within requests; memory comes once it holds."""
    with pair(folder, tiny_models, start=False) as made:
        for side in ("device", "cloud"):
            made.start_retrieval(side)
        made.start_device(composition=CompositionSettings(model="", confidence=0.0, distance=0))
        composer = made.stack.enter_context(made.client().compose(TEXT))
        for round_ in range(3):
            cloud = made.start_cloud()
            typed(composer, f" mira{round_}")
            linked(made)
            typed(composer, " duno")
            cloud.stop()
            until(lambda: not any(peer is not None and peer.up for peer in peers(made)))
            typed(composer, " tano")
        made.start_cloud()
        linked(made)
        composer.update(composer.text + " soretu limba meku")
        remembered(composer, "cloud")
        assert suggested(composer).version == composer.version


def peers(made: Pair) -> list[Peer | None]:
    device = made.device
    assert device is not None
    return [device.peer(), device.memory_peer()]
