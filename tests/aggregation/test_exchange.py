"""The draft exchange, driven over a simulated link by the code that the daemons run."""

from __future__ import annotations

import pytest
from simulation import check

from hocket_bus.messages import AGGREGATIONS


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_device_confirms_the_tokens_of_the_synchronous_loop(aggregation: str) -> None:
    """Whatever the delays, speeds and windows, ids equal the reference and the exchange ends."""
    for seed in range(120):
        check(seed, aggregation, breaks=False, near_ties=False)


@pytest.mark.parametrize("aggregation", ["coupled", "independent"])
def test_breaks_of_the_link_change_no_token_but_the_recorded_solo_steps(aggregation: str) -> None:
    """Messages lost in a break are made good by Sync; what was drawn alone is recorded as such."""
    worlds = [check(seed, aggregation, breaks=True, near_ties=False) for seed in range(1000, 1200)]
    assert any("solo" in world.nodes["device"].sources for world in worlds)
    assert any(
        "solo" in sources[:-1] and sources[-1] != "solo"
        for sources in (world.nodes["device"].sources for world in worlds)
    ), "no run came back from solo steps"


def test_a_near_tie_that_the_cloud_decides_otherwise_is_repaired_by_the_devices_word() -> None:
    """R5: the device's ids stand, the cloud cuts back, counts the event and goes on."""
    worlds = [check(seed, "coupled", breaks=seed % 2 == 0, near_ties=True) for seed in range(2000, 2200)]
    assert sum(world.nodes["cloud"].dialogue.exchange.corrections for world in worlds) > 20


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_thousands_of_runs(aggregation: str) -> None:
    """The whole of the three laws above."""
    for seed in range(10_000, 13_000):
        # With one aggregator at a time no two sides can differ on a near-tie.
        check(seed, aggregation, breaks=seed % 3 > 0, near_ties=seed % 2 > 0 and aggregation != "independent")
