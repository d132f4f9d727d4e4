"""A server listens at one address and is reached at another, as behind NAT or in a container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket_bus.endpoints import check_endpoint, check_listening, from_here, has_address
from hocket_bus.errors import BadConfiguration, Unavailable
from hocket_bus.messages import Hello, Notice, Welcome
from hocket_bus.sockets import Event, Greeted, LinkDown, LinkUp, Received
from hocket_bus.sockets.events import Greeter
from hocket_bus.trust.keys import Peer
from hocket_client import Client
from machines import PORT, Machine, asks, mapped
from ports import free_port
from waiting import WAIT_S

EVERYWHERE = "tcp://0.0.0.0"
TOPIC = bytes(range(16))


@pytest.fixture
def server(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "server")


def welcoming(streams_port: int) -> Greeter:
    return lambda hello: Welcome(role="device", epoch=1, streams_port=streams_port)


def test_streams_are_read_at_the_port_that_is_announced(server: Machine, tmp_path: Path) -> None:
    """Both ports are mapped, to ports that are no neighbours; what is published comes."""
    with mapped(PORT) as front, mapped(PORT + 1) as back:
        at = f"tcp://127.0.0.1:{front}"
        laptop = Machine(tmp_path / "laptop").knows(server=Peer(server.own.public, at))
        server.knows(anna=asks(laptop))
        with server.bus() as there, laptop.bus() as here:
            serving = there.serve(f"{EVERYWHERE}:{PORT}", welcoming(back))
            here.dial(at, Hello(role="client"), TOPIC, takes=(Notice,))
            laptop.until(lambda event: isinstance(event, LinkUp))
            serving.publish(TOPIC, Notice(request=bytes(16), seq=0, text="through"))
            event = laptop.until(lambda event: isinstance(event, Received))
            assert isinstance(event, Received)
            assert isinstance(event.message, Notice)
            assert event.message.text == "through"


def test_a_port_of_streams_that_leads_nowhere_is_named(server: Machine, tmp_path: Path) -> None:
    """The client says that the daemon answers, and which port is missing; a device, which reads none, is connected."""
    with mapped(PORT) as front:
        at, nowhere = f"tcp://127.0.0.1:{front}", free_port(1)
        laptop = Machine(tmp_path / "laptop").knows(server=Peer(server.own.public, at))
        server.knows(anna=asks(laptop))
        with server.bus() as there, laptop.bus() as here:
            there.serve(f"{EVERYWHERE}:{PORT}", welcoming(nowhere))
            here.dial(at, Hello(role="client"))
            laptop.until(lambda event: isinstance(event, LinkUp))
            with pytest.raises(Unavailable, match=f"{front} answers, but its streams at tcp://127.0.0.1:{nowhere}"):
                Client(at, connect_s=WAIT_S, keys=laptop.folder)
            assert not any(isinstance(event, LinkDown) for event in so_far(laptop))


def so_far(machine: Machine) -> Iterator[Event]:
    while not machine.inbox.empty():
        yield machine.inbox.get()


def test_what_listens_everywhere_looks_at_itself_here(server: Machine) -> None:
    """A daemon greets its own server where this machine reaches it."""
    with server.bus() as there:
        serving = there.serve(f"{EVERYWHERE}:{PORT}", welcoming(0))
        there.probe(serving, 1e9, lambda: server.inbox.put(Greeted(serving, b"", Hello(role="client"), "probe")))
        event = server.until(lambda event: isinstance(event, Greeted) and event.user == "probe")
        assert isinstance(event, Greeted), "it was welcomed by itself"


@pytest.mark.parametrize("at", ["tcp://203.0.113.7:7100", "tcp://gpu.invalid:7100"])
def test_an_address_of_another_machine_says_how_to_listen(at: str, server: Machine) -> None:
    """A public address that NAT maps, or a name: the line has the address to listen at and the key that announces."""
    assert not has_address(at)
    with server.bus() as there, pytest.raises(BadConfiguration, match=r'0\.0\.0\.0:7100", and .* advertise = ') as told:
        there.serve(at, welcoming(0))
    assert "choose a free endpoint" not in str(told.value)


def test_everywhere_is_a_place_to_listen_alone() -> None:
    """Nobody can connect to it; this machine connects to its own loopback instead."""
    for endpoint, here in ((f"{EVERYWHERE}:5", "tcp://127.0.0.1:5"), ("tcp://[::]:5", "tcp://[::1]:5")):
        check_listening(endpoint)
        assert from_here(endpoint) == here
        with pytest.raises(BadConfiguration, match="not to connect to"):
            check_endpoint(endpoint)
    for endpoint in ("tcp://127.0.0.1:5", "ipc:///run/x", "tcp://[::1]:5"):
        assert from_here(endpoint) == endpoint
    assert has_address("tcp://127.0.0.1:5")
