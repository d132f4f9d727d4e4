"""What a daemon counts, as Prometheus and Status show it: the same figures, and those of the answers themselves."""

from __future__ import annotations

import re
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from harness import Pair, pair
from prometheus_client.parser import text_string_to_metric_families

from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.messages import MemberOutcome, Status, StatusRequest
from hocket_daemon.monitoring.prometheus import Exporter
from hocket_daemon.roles.daemon import Daemon
from hocket_daemon.serving.peers.sealed_peer_group import SealedPeerGroup
from hocket_tools.caller import Caller
from ports import free_port
from waiting import WAIT_S, until

AT = {side: f"127.0.0.1:{free_port(1)}" for side in ("device", "cloud")}


@pytest.fixture(scope="module")
def made(tiny_models: dict[str, Path]) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), tiny_models, start=False) as made:
        made.start_retrieval("device")
        made.start_retrieval("cloud")
        made.start_cloud(metrics=AT["cloud"])
        made.start_device(metrics=AT["device"])
        yield made


def scraped(side: str) -> dict[str, float]:
    """Every sample by its full name."""
    with urlopen(f"http://{AT[side]}/metrics", timeout=WAIT_S) as page:
        families = text_string_to_metric_families(page.read().decode())
        samples = [sample for family in families for sample in family.samples]
    return {
        sample.name + "".join(f'{{{key}="{value}"}}' for key, value in sample.labels.items()): sample.value
        for sample in samples
    }


def shown(made: Pair, side: str) -> Status:
    with Caller(made.endpoint(side), WAIT_S) as caller:
        return caller.ask(StatusRequest(request=bytes(16)), Status, WAIT_S)


def test_the_figures_are_those_of_the_answers(made: Pair) -> None:
    """Tokens by source, drafts accepted on each side, the end, and bytes that left; on the cloud its own part."""
    before, cloud_before = scraped("device"), scraped("cloud")
    stream = made.client().ask("kala mira?", seed=3, max_tokens=40, temperature=1.0, ignore_eos=True)
    sources = Counter(token.source for token in stream)
    done = stream.result()
    after, cloud_after = scraped("device"), scraped("cloud")
    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    assert {source: grown[f'hocket_tokens_total{{source="{source}"}}'] for source in sources} == dict(sources)
    assert grown['hocket_accepted_total{side="device"}'] == round((done.aggregation.accept_device or 0) * 40)
    assert grown['hocket_accepted_total{side="cloud"}'] == round((done.aggregation.accept_cloud or 0) * 40)
    assert grown["hocket_drafts_total"] >= done.aggregation.drafts_device > 0
    assert grown["hocket_rollbacks_total"] <= sum(count for source, count in sources.items() if source != "both")
    assert grown['hocket_answers_total{finish="length"}'] == grown["hocket_first_tokens_total"] == 1
    assert grown['hocket_sent_bytes_total{class="drafts"}'] > grown['hocket_sent_bytes_total{class="query"}'] > 0
    assert grown["hocket_decode_seconds_total"] > 0
    assert after["hocket_rtt_s"] > 0
    assert after["hocket_up"] == 1
    assert cloud_after["hocket_drafts_total"] - cloud_before["hocket_drafts_total"] >= done.aggregation.drafts_cloud > 0
    assert cloud_after['hocket_answers_total{finish="length"}'] == cloud_before['hocket_answers_total{finish="length"}']


def test_an_error_is_counted_by_its_kind(made: Pair) -> None:
    """One that was refused at once, and bytes that are no message."""
    before = scraped("device")
    with pytest.raises(BadRequest):
        made.client().ask("kala?", weights="strange").result()
    after = scraped("device")
    name = 'hocket_errors_total{kind="bad_request"}'
    assert after[name] - before[name] == 1
    assert sum(after[name] for name in after if "errors_total" in name) == 1 + sum(
        before[name] for name in before if "errors_total" in name
    )


def test_the_page_explains_every_figure(made: Pair) -> None:
    """docs/watch.md has the name of each, and no other; those of a group are there once a member was met."""
    assert made.device is not None
    peer_group = made.device.peer_group
    assert isinstance(peer_group, SealedPeerGroup)
    peer_group._rtts_s["ben"] = 0.1
    peer_group.record_outcome(MemberOutcome(name="ben", steps=[0, 1], accept=1.0, drafts=1))
    page = (Path(__file__).parents[2] / "docs/watch.md").read_text(encoding="utf-8")
    told = {name for row in re.findall(r"(?m)^\| (`.*?) \|", page) for name in re.findall(r"`(\w+)(?:\{\w+\})?`", row)}
    known = {name.removeprefix("hocket_").partition("{")[0] for side in AT for name in scraped(side)}
    assert known == told


@pytest.mark.parametrize("side", ["device", "cloud"])
def test_status_and_prometheus_know_the_same_figures(made: Pair, side: str) -> None:
    """Under the same names; the status says in words what they mean and where the page is."""
    status = shown(made, side)
    assert {f"hocket_{name}" for name in status.metrics} | {"hocket_up"} == set(scraped(side))
    assert "tokens" in status.facts["since the start"]
    assert AT[side] in status.facts["metrics"]


def test_a_main_loop_that_hangs_is_told(made: Pair) -> None:
    """The page comes all the same."""
    hangs, device = threading.Event(), made.device
    assert isinstance(device, Daemon)
    device.bus.post(lambda: hangs.wait(30) and None)
    try:
        assert scraped("device") == {"hocket_up": 0.0}
    finally:
        hangs.set()
    until(lambda: scraped("device")["hocket_up"] == 1)


@pytest.mark.parametrize("address", ["9464", ":9464", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999"])
def test_a_wrong_address_is_one_line(address: str) -> None:
    """It names the setting."""
    with pytest.raises(BadConfiguration, match="metrics"):
        Exporter(address, lambda _: None, dict)


def test_a_port_that_is_taken_is_one_line() -> None:
    """And not another daemon's figures."""
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(BadConfiguration, match="choose a free port"),
    ):
        Exporter(f"127.0.0.1:{other.getsockname()[1]}", lambda _: None, dict)
