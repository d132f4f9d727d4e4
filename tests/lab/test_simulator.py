"""Laws of the simulator: its event loop equals the recursion of docs/aggregation.md, floors and limits are met."""

import gzip
import random
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import ClassVar, Self

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Source, Token
from hocket_daemon.aggregation.exchange.lookahead import draft_window
from hocket_lab.simulator import record
from hocket_lab.simulator.recording import Accepted, DecodeTimes, Rates, Recording, Sequence, drawn, load, save
from hocket_lab.simulator.roundtrip import Sinusoid, Trace, recorded
from hocket_lab.simulator.simulation import Outcome, simulate
from hocket_lab.simulator.strategies import STRATEGIES
from hocket_lab.simulator.study import Settings, outcomes
from hocket_tools.main import run

AHEAD = [name for name, strategy in STRATEGIES.items() if strategy.ahead]
BOTH_SIDES = ("coupled", "sync-both")
SIDES = ("device", "cloud")


def sequence(seed: int, tokens: int = 40, both: Accepted | None = None) -> Sequence:
    """Random decisions and decode times from 1 to 200 ms; `both`: the same decisions under both ways of drawing."""
    source = random.Random(seed)

    def bits() -> list[bool]:
        rate = source.random()
        return [source.random() < rate for _ in range(tokens)]

    times = DecodeTimes(*([source.uniform(0.001, 0.2) for _ in range(tokens)] for _ in SIDES))
    return Sequence(both or Accepted(bits(), bits()), both or Accepted(bits(), bits()), times)


def constant(rtt_s: float) -> Sinusoid:
    return Sinusoid(rtt_s, jitter=0.0)


def ms_per_token(runs: list[Outcome]) -> float:
    return 1000 * fmean(fmean(run.gaps_s) for run in runs)


def recursion(made: Sequence, name: str, rtt_s: float) -> list[float]:
    """When the device has each token, straight from D_s(t), K_s(t) and the window, without events or messages."""
    strategy = STRATEGIES[name]
    accepted = made.accepted(strategy.decisions)
    own = {side: (getattr(accepted, side), getattr(made.decode_s, side)) for side in SIDES}
    windows = {side: draft_window(rtt_s, fmean(own[side][1])) if strategy.ahead else 1 for side in SIDES}
    drafted: dict[str, list[float]] = {side: [] for side in SIDES}
    known: dict[str, list[float]] = {side: [] for side in SIDES}
    for step in range(made.tokens):
        for side in SIDES:
            bits, times = own[side]
            begun = 0.0
            if step:
                begun = drafted[side][-1] if bits[step - 1] else known[side][-1]
            if step >= windows[side]:
                begun = max(begun, known[side][step - windows[side]])
            drafted[side].append(begun + times[step])
        for side, away in (SIDES, SIDES[::-1]):
            before = known[side][-1] if step else 0.0
            arrived = drafted[away][step] + rtt_s / 2
            known[side].append(max(before, drafted[side][step], arrived))
        if name not in BOTH_SIDES:
            at = strategy.aggregators[0]
            away = SIDES[1 - SIDES.index(at)]
            known[away][step] = known[at][step] + rtt_s / 2
    return known["device"]


@pytest.mark.parametrize("name", ["sync", "sync-both", "device", "cloud", "coupled-device", "coupled"])
@given(seed=st.integers(0, 2**32), rtt_ms=st.sampled_from([0, 7, 50, 300, 2000]))
@settings(max_examples=12)
def test_the_events_equal_the_recursion(name: str, seed: int, rtt_ms: int) -> None:
    """K_s(t) = max(K_s(t−1), D_s(t), D_other(t) + d), with the window, at any decisions and decode times."""
    made = sequence(seed)
    simulated = simulate(made, STRATEGIES[name], constant(rtt_ms / 1000)).token_s
    assert simulated == pytest.approx(recursion(made, name, rtt_ms / 1000), abs=1e-9)


@pytest.mark.parametrize("decode_s", [(0.025, 0.025), (0.132, 0.0084), (0.01, 0.2)])
@pytest.mark.parametrize("rtt_s", [0.0, 0.1, 0.3])
def test_sync_takes_its_floor_exactly(decode_s: tuple[float, float], rtt_s: float) -> None:
    """max(c_device, c_cloud + rtt) a token where the device aggregates; the mean of both ways where each does."""
    made = drawn(Rates(decode_s=decode_s), 31, 1, 0).sequences[0]
    device, cloud = decode_s
    sync = simulate(made, STRATEGIES["sync"], constant(rtt_s))
    assert sync.gaps_s == pytest.approx([max(device, cloud + rtt_s)] * 30)
    assert sync.drafts == 2 * made.tokens
    both = simulate(made, STRATEGIES["sync-both"], constant(rtt_s))
    cycle = max(device, cloud, (device + cloud + rtt_s) / 2)
    assert fmean(both.gaps_s[-20:]) == pytest.approx(cycle)


@pytest.mark.parametrize("name", STRATEGIES)
def test_without_a_round_trip_a_token_takes_the_slower_decode(name: str) -> None:
    """Whatever is rejected: nothing has to travel."""
    made = drawn(Rates(decode_s=(0.025, 0.04)), 50, 1, 3).sequences[0]
    assert simulate(made, STRATEGIES[name], constant(0.0)).gaps_s == pytest.approx([0.04] * 49)


@pytest.mark.parametrize("name", [name for name in AHEAD if name != "random"])
def test_all_accepted_reaches_the_limit(name: str) -> None:
    """Then a token takes one decode at any round trip that the window hides."""
    made = drawn(Rates((1.0, 1.0), (1.0, 1.0)), 60, 1, 0).sequences[0]
    run = simulate(made, STRATEGIES[name], constant(0.3))
    assert fmean(run.gaps_s[-30:]) == pytest.approx(0.025)
    assert run.drafts == 2 * made.tokens


@pytest.mark.parametrize("name", AHEAD)
def test_all_rejected_is_as_slow_as_sync(name: str) -> None:
    """The paper's §6: synchronisation is the special case in which every draft is rejected."""
    made = drawn(Rates((0.0, 0.0), (0.0, 0.0)), 40, 1, 0).sequences[0]
    rival = "sync-both" if name == "coupled" else "sync"
    run, sync = (simulate(made, STRATEGIES[each], constant(0.3)) for each in (name, rival))
    assert fmean(run.gaps_s) <= fmean(sync.gaps_s) + 1e-9
    if name in ("device", "coupled"):
        assert run.token_s == pytest.approx(sync.token_s)


@pytest.mark.parametrize("name", ["sync", "sync-both", "device", "coupled-device", "coupled"])
@given(seed=st.integers(0, 2**32), device_ms=st.integers(25, 150), cloud_ms=st.integers(25, 150))
@settings(max_examples=8)
def test_a_longer_way_is_never_faster(name: str, seed: int, device_ms: int, cloud_ms: int) -> None:
    """Every token comes no sooner when the round trip grows."""
    made = drawn(Rates(decode_s=(device_ms / 1000, cloud_ms / 1000)), 40, 1, seed).sequences[0]
    runs = [simulate(made, STRATEGIES[name], constant(rtt_s)).token_s for rtt_s in (0.0, 0.1, 0.3, 0.6)]
    for near, remote in pairwise(runs):
        assert all(sooner <= later + 1e-9 for sooner, later in zip(near, remote, strict=True))


@given(seed=st.integers(0, 2**32), rtt_ms=st.sampled_from([0, 50, 300, 900]))
@settings(max_examples=12)
def test_with_the_same_decisions_aggregating_on_both_sides_is_never_slower(seed: int, rtt_ms: int) -> None:
    """Token by token: the side that would have had to be told knows by itself, and no later."""
    source = random.Random(seed)
    same = Accepted(*([source.random() < 0.7 for _ in range(40)] for _ in SIDES))
    made = sequence(seed, both=same)
    rtt = constant(rtt_ms / 1000)
    coupled, device, cloud, changing = (
        simulate(made, STRATEGIES[name], rtt, seed).token_s for name in ("coupled", "device", "cloud", "random")
    )
    for rival in (device, cloud, changing):
        assert all(own <= other + 1e-9 for own, other in zip(coupled, rival, strict=True))


@pytest.mark.parametrize(
    ("rtt_ms", "sync", "device", "coupled_device", "coupled"),
    [
        (0, 25, 25, 25, 25),
        (100, 125, 75, 41, 32),
        (300, 325, 174, 72, 45),
        pytest.param(600, 625, 322, 120, 64, marks=pytest.mark.slow),
    ],
)
def test_the_table_of_the_design_comes_out(
    rtt_ms: int, sync: float, device: float, coupled_device: float, coupled: float
) -> None:
    """25 ms on both sides, acceptance 0.55/0.50 and 0.90/0.85, 200 tokens: within 10 % of another program."""
    expected = {"sync": sync, "device": device, "coupled-device": coupled_device, "coupled": coupled}
    made = drawn(Rates(), 200, 20, 1).sequences
    for name, target in expected.items():
        runs = [simulate(each, STRATEGIES[name], constant(rtt_ms / 1000)) for each in made]
        assert ms_per_token(runs) == pytest.approx(target, rel=1e-9 if name == "sync" else 0.1)


def test_the_scheduler_is_never_worse_than_a_fixed_side() -> None:
    """But for finding out: two round trips an answer. Each side in turn is the one that is mostly accepted."""
    for decode_s in ((0.025, 0.025), (0.132, 0.0084)):
        for rates in ((0.49, 0.99), (0.99, 0.49)):
            made = drawn(Rates(rates, decode_s=decode_s), 100, 5, 5).sequences
            for rtt_s in (0.0, 0.3):
                took_s = {
                    name: fmean(simulate(each, STRATEGIES[name], constant(rtt_s)).token_s[-1] for each in made)
                    for name in ("device", "cloud", "scheduler")
                }
                assert took_s["scheduler"] <= min(took_s["device"], took_s["cloud"]) + 2 * rtt_s + 1e-9


def test_the_scheduler_leaves_the_device_for_the_cloud_when_its_drafts_are_the_ones_rejected() -> None:
    """Eq. 8: the higher the device's acceptance against the cloud's, the more the cloud should aggregate."""
    made = drawn(Rates((1.0, 0.0)), 30, 1, 0).sequences[0]
    run = simulate(made, STRATEGIES["scheduler"], constant(0.3))
    assert run.switches == 1
    assert [moment.side for moment in run.moments[:3]] == ["device", "cloud", "cloud"]
    assert run.moments[0].delta_s == pytest.approx(0.1 * 0.3)  # each went a tenth of the way from one half


def test_spans_tell_all_work_and_which_of_it_was_used() -> None:
    """Every step has exactly one used decode a side; what is interrupted or late is not used."""
    made = sequence(11)
    run = simulate(made, STRATEGIES["device"], constant(0.2))
    for side in SIDES:
        used = [span.step for span in run.spans if span.side == side and span.work == "decode" and span.used]
        assert used == list(range(made.tokens))
    assert any(not span.used for span in run.spans)
    assert all(span.start_s <= span.end_s for span in run.spans)


def test_the_sine_has_the_papers_period_and_amplitude() -> None:
    """One fifth around the round trip, once in 20π seconds."""
    rtt = Sinusoid(0.3)
    values = [rtt(second / 10) for second in range(629)]
    assert max(values) == pytest.approx(0.36, rel=1e-3)
    assert min(values) == pytest.approx(0.24, rel=1e-3)
    assert fmean(values) == pytest.approx(0.3, rel=1e-3)


def test_a_trace_repeats_and_holds_each_value() -> None:
    """Values change after their period, from the chosen one on."""
    trace = Trace((0.1, 0.2, 0.3), 2.0, start=1)
    assert [trace(second) for second in (0, 1.9, 2, 4, 6)] == [0.2, 0.2, 0.3, 0.1, 0.2]


def test_messages_keep_their_order_when_the_way_gets_shorter() -> None:
    """No draft overtakes an earlier one, so steps are confirmed in order at any trace."""
    made = sequence(4)
    run = simulate(made, STRATEGIES["coupled"], Trace((2.0, 0.01), 0.05))
    assert run.token_s == sorted(run.token_s)
    for side in SIDES:
        ends = [span.end_s for span in run.spans if span.side == side and span.work == "draft"]
        assert ends == sorted(ends)


def test_a_series_is_one_pair_of_the_matrices_without_its_gaps(tmp_path: Path) -> None:
    """Row I, column J of every block, in order, zeros left out; what is not there is one clear error."""
    (tmp_path / "net_rtt_matrices").mkdir()
    blocks = []
    for time in range(3):
        rows = [[0.0] * 99 for _ in range(99)]
        rows[3][17] = time * 0.5
        blocks.append(f"# SeattleData_{time}\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    with gzip.open(tmp_path / "net_rtt_matrices" / "seattle_688x99x99.txt.gz", "wt") as file:
        file.write("".join(blocks))
    assert recorded(tmp_path, 3, 17) == (0.5, 1.0)
    for wrong in ((3, 18), (3, 3), (3, 99)):
        with pytest.raises(BadRequest):
            recorded(tmp_path, *wrong)
    with pytest.raises(BadRequest, match="--data"):
        recorded(tmp_path / "elsewhere", 3, 17)


def test_a_recording_survives_its_file(tmp_path: Path) -> None:
    """Saving and loading is the identity."""
    made = drawn(Rates(), 7, 3, 2)
    save(tmp_path / "r.json", made)
    assert load(tmp_path / "r.json") == made


@pytest.mark.parametrize("text", ["", "{}", '{"source": "x", "sequences": []}', '{"source": "x", "sequences": [{}]}'])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    """With one line that names the file and how to make one."""
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadRequest, match="hocket simulate record"):
        load(tmp_path / "r.json")


def test_lists_of_unequal_length_are_refused(tmp_path: Path) -> None:
    """A recording whose lists do not fit together cannot be replayed."""
    raw = msgspec.to_builtins(drawn(Rates(), 7, 1, 2))
    raw["sequences"][0]["coupled"]["cloud"].pop()
    (tmp_path / "r.json").write_bytes(msgspec.json.encode(raw))
    with pytest.raises(BadRequest, match="one length"):
        load(tmp_path / "r.json")


def test_equal_seeds_give_equal_outcomes() -> None:
    """Also where sides are chosen at random."""
    tape = Recording("x", drawn(Rates(), 20, 3, 0).sequences)
    first, second, other = (
        [run.token_s for run in outcomes(tape, Settings([300.0], ["random"], seed=seed), 300.0, "random")]
        for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_json_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hocket simulate` in a tiny setting: the rows of all strategies, a JSON with what was set, two pictures."""
    out, png = tmp_path / "s.json", tmp_path / "p.png"
    words = ["simulate", "--rtt", "0,300", "--sequences", "3", "--tokens", "10", "--json", str(out)]
    assert run([*words, "--pipeline", str(png)]) in (0, 1)
    content = msgspec.json.decode(out.read_bytes())
    assert len(content["rows"]) == 2 * len(STRATEGIES)
    assert content["settings"]["recording"] == "drawn from given rates, seed 0"
    assert set(STRATEGIES) <= set(capsys.readouterr().out.split())
    assert png.read_bytes()[:4] == out.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    "wrong", [["--strategies", "best"], ["--accept", "0.5"], ["--accept", "0.5,2"], ["--rtt", "far"]]
)
def test_wrong_options_are_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors name the option and end with status 2."""
    assert run(["simulate", *wrong]) == 2
    text = capsys.readouterr().err
    assert text.startswith("hocket: ")
    assert wrong[0] in text
    assert text.count("\n") == 1


class Spoken:
    """A daemon whose answers are known: the coupled, the independent, and the one that a side gives alone."""

    SOURCES: ClassVar[dict[str, list[Source]]] = {
        "coupled": ["both", "device", "cloud"],
        "independent": ["resampled", "both", "device"],
    }

    def __init__(self, endpoint: str, *, keys: Path | None) -> None:
        assert keys is None
        self._step_s = {"device": 0.1, "cloud": 0.02}[endpoint]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ask(self, _question: str, *, aggregation: str, alone: bool, **_options: object) -> list[Token]:
        sources = ["solo"] * 3 if alone else self.SOURCES[aggregation]
        return [
            Token(request=bytes(16), seq=at, step=at, id=5, text="", source=source, t_s=1 + at * self._step_s)  # type: ignore[arg-type]
            for at, source in enumerate(sources)
        ]


def test_recording_a_pair_reads_decisions_from_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of both was accepted on both sides, one of a side there alone; decode times are gaps of answers alone."""
    monkeypatch.setattr(record, "Client", Spoken)
    made = record.record("device", "cloud", ["a", "b"], 3, tmp_path / "r.json")
    assert load(tmp_path / "r.json") == made
    first, second = made.sequences
    assert first == second
    assert first.coupled == Accepted([True, True, False], [True, False, True])
    assert first.independent == Accepted([False, True, True], [False, True, False])
    assert first.decode_s.device == pytest.approx([0.1] * 3)
    assert first.decode_s.cloud == pytest.approx([0.02] * 3)
    assert "running pair" in made.source
