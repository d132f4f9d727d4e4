"""Laws of `composer.wait`: it is for the text as it stands, at once when it is known, whoever reads beside."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator

import pytest
from scripted_device import ScriptedDevice

from hocket_bus.deadline import Deadline
from hocket_bus.errors import Busy, Cancelled
from hocket_bus.messages import Suggestion
from hocket_client import AsyncClient, Client
from waiting import WAIT_S, until


@pytest.fixture
def device() -> Iterator[ScriptedDevice]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        made = ScriptedDevice(f"ipc://{folder}/x", lambda text, _: text.upper())
        yield made
        made.close()


def text_of(suggestion: Suggestion | None) -> str | None:
    return None if suggestion is None else suggestion.text


def test_it_is_for_the_text_as_it_stands(device: ScriptedDevice) -> None:
    """Also behind an update, at 0 s, and where nothing may follow: that is known, too."""
    with Client(device.endpoint, connect_s=WAIT_S) as client, client.compose("one") as composer:
        assert text_of(composer.wait(WAIT_S)) == "ONE"
        assert text_of(composer.wait(0)) == "ONE"
        device.hold()
        composer.update("two")
        assert composer.wait(0) is None
        composer.update("three")
        device.release()
        assert text_of(composer.wait(WAIT_S)) == "THREE"
        composer.update("")
        assert text_of(composer.wait(WAIT_S)) == ""
        assert composer.accept() == ""


def test_memory_that_is_on_its_way_is_waited_for(device: ScriptedDevice) -> None:
    """As long as the device says, and no longer than is asked for; then what there is is the answer."""
    with Client(device.endpoint, connect_s=WAIT_S) as client:
        device.expects_s = 10 * WAIT_S
        with client.compose("one") as composer:
            until(lambda: composer.suggestion is not None)
            assert text_of(composer.wait(0)) == "ONE"
            device.remember(" AND MORE")
            assert text_of(composer.wait(WAIT_S)) == "ONE AND MORE"
        device.expects_s = 0.05
        with client.compose("two") as composer:
            assert text_of(composer.wait(WAIT_S)) == "TWO AND MORE"
            assert composer.settles_s == 0


def test_another_threads_update_is_waited_for(device: ScriptedDevice) -> None:
    """None is an answer behind `wait_s` alone."""
    device.hold()  # before the first answer is on its way
    with Client(device.endpoint, connect_s=WAIT_S) as client, client.compose("one") as composer:
        found: list[str | None] = []
        waiting = threading.Thread(target=lambda: found.append(text_of(composer.wait(WAIT_S))))
        waiting.start()
        composer.update("two")
        device.release()
        waiting.join(WAIT_S)
        assert found == ["TWO"]


def test_events_read_beside_take_nothing_from_it_and_it_nothing_from_them(device: ScriptedDevice) -> None:
    """Each sees every suggestion."""
    with Client(device.endpoint, connect_s=WAIT_S) as client, client.compose("0") as composer:
        read: list[str | None] = []
        reading = threading.Thread(target=lambda: read.extend(text_of(event) for event in composer.events()))  # type: ignore[arg-type]
        reading.start()
        deadline = Deadline.after(WAIT_S)
        for number in range(1, 30):
            composer.update(f"text {number}")
            assert text_of(composer.wait(WAIT_S)) == f"TEXT {number}"
            until(lambda number=number: f"TEXT {number}" in read)
        assert not deadline.passed
        composer.close()
        reading.join(WAIT_S)
        assert not reading.is_alive()


def test_what_it_has_waited_for_is_still_handed_out(device: ScriptedDevice) -> None:
    """To whoever reads events later, once."""
    with Client(device.endpoint, connect_s=WAIT_S) as client, client.compose("one") as composer:
        composer.wait(WAIT_S)
        assert text_of(next(composer.events(WAIT_S))) == "ONE"  # type: ignore[arg-type]
        assert list(composer.events(0)) == []


def test_what_goes_wrong_is_raised(device: ScriptedDevice) -> None:
    """A device that is full once; the end of the composer, or of its client, however often."""
    device.busy_s = 1.0
    client = Client(device.endpoint, connect_s=WAIT_S)
    composer = client.compose("one")
    with pytest.raises(Busy, match="full"):
        composer.wait(WAIT_S)
    device.busy_s = 0.0
    assert text_of(composer.wait(WAIT_S)) == "ONE"  # it was asked for again
    other = client.compose("two")
    composer.close()
    for _ in range(2):
        with pytest.raises(Cancelled):
            composer.wait(WAIT_S)
    assert list(composer.events()) == []
    device.hold()
    other.update("three")
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            other.wait(WAIT_S)
        except Cancelled as error:
            ended.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    client.close()
    waiting.join(WAIT_S)
    assert len(ended) == 1
    for _ in range(2):
        with pytest.raises(Cancelled):
            other.wait(WAIT_S)
        with pytest.raises(Cancelled):
            list(other.events())


def test_the_asynchronous_one_is_the_same(device: ScriptedDevice) -> None:
    """Beside a task that reads events."""

    async def law() -> None:
        async with AsyncClient(device.endpoint, connect_s=WAIT_S) as client, client.compose("one") as composer:
            read: list[str | None] = []

            async def reads() -> None:
                async for event in composer.events():
                    read.append(text_of(event))  # type: ignore[arg-type]

            reading = asyncio.create_task(reads())
            for number in range(30):
                composer.update(f"text {number}")
                assert text_of(await composer.wait(WAIT_S)) == f"TEXT {number}"
                while f"TEXT {number}" not in read:
                    await asyncio.sleep(0)
            device.hold()
            composer.update("held")
            assert await composer.wait(0) is None
            composer.close()
            with pytest.raises(Cancelled):
                await composer.wait(WAIT_S)
            await asyncio.wait_for(reading, WAIT_S)

    asyncio.run(asyncio.wait_for(law(), WAIT_S))
