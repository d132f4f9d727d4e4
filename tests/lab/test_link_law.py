"""Laws of the delay arithmetic and of the files and addresses the link reads."""

from itertools import pairwise, takewhile
from pathlib import Path as FilePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_lab.link import Conditions, Path, TraceError, parse_address, read_trace
from hocket_lab.link.law import DelayLaw

PATHS = st.builds(
    Path,
    delay_s=st.floats(0, 0.2),
    jitter_s=st.floats(0, 0.1),
    jitter=st.sampled_from(["normal", "uniform"]),
    bandwidth_bytes_per_s=st.sampled_from([0.0, 1e4, 1e6]),
    trace_s=st.lists(st.floats(0, 0.5), max_size=5).map(tuple),
)
ARRIVALS = st.lists(st.tuples(st.floats(0, 0.1), st.integers(0, 65536)), min_size=1, max_size=40)


def releases(conditions: Conditions, arrivals: list[tuple[float, int]]) -> list[tuple[float, float]]:
    """(arrival, release) of chunks that come `gap` after each other."""
    law, now, times = DelayLaw(conditions, conditions.forward, "0/forward"), 0.0, []
    for gap, size in arrivals:
        now += gap
        times.append((now, law.release_s(now, size)))
    return times


@given(PATHS, ARRIVALS, st.integers(0, 5))
def test_the_same_seed_gives_the_same_delays_in_order_and_never_before_arrival(
    path: Path, arrivals: list[tuple[float, int]], seed: int
) -> None:
    """Release times repeat with the seed, never decrease and never precede the arrival."""
    conditions = Conditions(forward=path, stall_every_s=0.2, stall_s=0.1, seed=seed)
    times = releases(conditions, arrivals)
    assert times == releases(conditions, arrivals)
    assert all(earlier[1] <= later[1] for earlier, later in pairwise(times))
    assert all(release >= arrival for arrival, release in times)


def test_another_seed_gives_other_delays() -> None:
    """Jitter comes from the seed."""
    path, arrivals = Path(delay_s=0.1, jitter_s=0.02), [(0.5, 100)] * 20
    assert releases(Conditions(forward=path, seed=1), arrivals) != releases(Conditions(forward=path, seed=2), arrivals)


@pytest.mark.parametrize(("jitter", "width", "sd"), [("normal", 0.06, 0.02 * 0.9866), ("uniform", 0.02, 0.02 / 3**0.5)])
def test_jitter_spreads_as_its_law_says(jitter: str, width: float, sd: float) -> None:
    """Mean, spread and bounds of 4,000 delays match a cut normal and an even spread."""
    path = Path(delay_s=0.1, jitter_s=0.02, jitter=jitter)  # type: ignore[arg-type]
    delays = [release - arrival for arrival, release in releases(Conditions(forward=path), [(1.0, 9)] * 4000)]
    mean = sum(delays) / len(delays)
    assert mean == pytest.approx(0.1, abs=0.0015)
    assert (sum((delay - mean) ** 2 for delay in delays) / len(delays)) ** 0.5 == pytest.approx(sd, rel=0.06)
    assert 0.1 - width - 1e-9 <= min(delays) <= max(delays) <= 0.1 + width + 1e-9


def test_bandwidth_queues_what_comes_too_fast() -> None:
    """Ten chunks of 1,000 bytes at once over 10,000 bytes/s leave 0.1 s apart."""
    path = Path(delay_s=0.05, bandwidth_bytes_per_s=10_000)
    times = [release for _, release in releases(Conditions(forward=path), [(0.0, 1000)] * 10)]
    assert times == pytest.approx([0.05 + 0.1 * (index + 1) for index in range(10)])


def test_a_trace_sets_half_its_round_trip_each_way_and_repeats() -> None:
    """Values change every period and start over at the end."""
    path = Path(trace_s=(0.1, 0.3), trace_period_s=1.0)
    times = releases(Conditions(forward=path), [(0.5, 1), (1.0, 1), (1.0, 1)])
    assert [release - arrival for arrival, release in times] == pytest.approx([0.05, 0.15, 0.05])


def test_nothing_leaves_during_a_stall_and_both_directions_stall_together() -> None:
    """Releases sampled every millisecond leave gaps of the stall's length, at the same times both ways."""
    conditions = Conditions(stall_every_s=1.0, stall_s=0.5, seed=3)
    gaps = []
    for stream in ("0/forward", "0/backward"):
        law = DelayLaw(conditions, conditions.forward, stream)
        times = [law.release_s(tick / 1000, 1) for tick in range(20_000)]
        gaps.append([(a, b) for a, b in pairwise(times) if b - a > 0.4])
    assert gaps[0] == gaps[1]
    assert 3 <= len(gaps[0]) <= 30


def test_a_trace_file_is_milliseconds_one_per_line(tmp_path: FilePath) -> None:
    """Comments and blank lines are skipped, values become seconds."""
    file = tmp_path / "rtt.txt"
    file.write_text("# from a train\n40\n\n55.5  # tunnel\n")
    assert read_trace(file) == pytest.approx((0.040, 0.0555))


@pytest.mark.parametrize("text", ["40\nfast\n", "40\n-1\n", "40\nnan\n", "40\ninf\n"])
def test_a_bad_trace_names_its_line(tmp_path: FilePath, text: str) -> None:
    """Anything but a finite number of at least zero is refused."""
    file = tmp_path / "rtt.txt"
    file.write_text(text)
    with pytest.raises(TraceError, match="line 2"):
        read_trace(file)


def test_a_trace_that_is_no_text_is_named(tmp_path: FilePath) -> None:
    """Not the byte that could not be decoded alone."""
    (tmp_path / "binary").write_bytes(bytes((0x7F, 0xFF)))
    with pytest.raises(TraceError, match=r"binary is not text"):
        read_trace(tmp_path / "binary")


def test_an_empty_trace_is_refused(tmp_path: FilePath) -> None:
    """A trace without a value says what to write."""
    file = tmp_path / "rtt.txt"
    file.write_text("# nothing\n")
    with pytest.raises(TraceError, match="one round trip"):
        read_trace(file)


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:70", ("127.0.0.1", 70)), ("tcp://cloud:7", ("cloud", 7)), ("[::1]:9", ("::1", 9))],
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    """host:port with or without tcp://, brackets for IPv6."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "7000", ":7000", "host:", "host:seven", "host:70000"])
def test_a_bad_address_is_refused_with_an_example(text: str) -> None:
    """The message shows what to write."""
    with pytest.raises(ValueError, match="for example"):
        parse_address(text)


@given(st.sampled_from(["delay_s", "jitter_s", "bandwidth_bytes_per_s", "trace_period_s"]))
def test_impossible_conditions_are_refused(name: str) -> None:
    """Negative and non-finite values are errors that name the field."""
    for value in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=name):
            Path(**{name: value})  # type: ignore[arg-type]


def test_conditions_need_a_rate_for_stalls() -> None:
    """A stall length without how often is an error; order after a change of law is kept."""
    with pytest.raises(ValueError, match="how often"):
        Conditions(stall_s=1.0)
    slow = DelayLaw(Conditions(), Path(delay_s=1.0), "0/forward")
    slow.release_s(0.0, 1)
    fast = DelayLaw(Conditions(), Path(), "0/forward")
    fast.follow(slow)
    assert fast.release_s(0.1, 1) == 1.0
    assert list(takewhile(lambda t: t < 2, [fast.release_s(1.5, 1)])) == [1.5]
