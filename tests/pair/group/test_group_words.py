"""Devices of a group with different tokenizers: word by word where the owner says so, else without them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
from family import BOAT, CHOIR, HOME, Family, family

from hocket_daemon.aggregation.answer_summary import MIN_CHARGE
from hocket_daemon.serving.records import decisions
from waiting import WAIT_S, until

QUESTION = "At which berth does the sailing boat Halcyon lie, and who conducts the choir Vox Borealis?"
TOKENS = 12


@pytest.fixture
def made(tiny_models: dict[str, Path]) -> Iterator[Family]:
    """Anna and Carl have one model, the cloud's tokenizer; Ben's is another one."""
    if "stranger" not in tiny_models:
        pytest.skip("a published model has no stranger")
    with tempfile.TemporaryDirectory(prefix="hk") as name, family(Path(name), tiny_models) as made:
        names = ["anna", "ben", "carl"]
        made.start_cloud(names, {"family": names})
        ben = made._prepared("ben")
        ben.models = tiny_models | {"device": tiny_models["stranger"]}
        made.devices["ben"] = ben
        yield made


def _ask(
    made: Family, temperature: float, *, drafts: bool | str = True
) -> tuple[dict[str, list[int]], list[int], list[str]]:
    for name, text in (("anna", HOME), ("ben", BOAT), ("carl", CHOIR)):
        made.start_device(name, text, drafts_for=["anna"], drafts=drafts or name != "anna")
    with made.devices["anna"].client() as client:
        stream = client.ask(
            QUESTION,
            mode="graph",
            members=("ben", "carl"),
            max_tokens=TOKENS,
            seed=1,
            temperature=temperature,
            ignore_eos=True,
            unknown="answer",
            deadline_s=WAIT_S,
        )
        done = stream.result()
    steps = {each.name: each.steps for each in done.aggregation.members}
    named = {origin.device for origin in done.sources if origin.device}
    assert len(done.token_sources) == len(done.token_ids)
    assert all(sum(shares) == pytest.approx(1.0, abs=1e-3) for shares in done.token_sources)
    return {name: steps.get(name, []) for name in named | set(steps)}, done.token_ids, stream.notices


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unlike_members_draft_words(made: Family, monkeypatch: pytest.MonkeyPatch, temperature: float) -> None:
    """Each takes part at every step, and is among the sources."""
    monkeypatch.setitem(harness.ABOUT_MODELS, "unit", "word")
    steps, ids, _ = _ask(made, temperature)
    assert len(ids) == TOKENS
    assert steps["ben"]
    assert steps["ben"] == steps["carl"]
    assert steps["ben"][0] == 0
    assert made.ledger("ben")["drafts"] > 0


def test_a_device_that_leaves_who_steers_asks_for_no_words(made: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of words it cannot be seen: it keeps its drafts and does not trust, so unlike members take no part."""
    monkeypatch.setitem(harness.ABOUT_MODELS, "unit", "word")
    monkeypatch.setitem(harness.ABOUT_MODELS, "trust_cloud", False)
    steps, ids, notices = _ask(made, 0.0, drafts=False)
    assert len(ids) == TOKENS
    assert not steps.get("ben")
    assert any("ben" in notice and "different tokenizers" in notice for notice in notices)


def test_a_member_with_another_tokenizer_is_left_out_and_named(made: Family) -> None:
    """By default a group follows the cloud's tokenizer."""
    steps, ids, notices = _ask(made, 0.0)
    assert len(ids) == TOKENS
    assert not steps.get("ben")
    assert steps["carl"] == [0, TOKENS]
    assert any("ben" in notice and "different tokenizers" in notice for notice in notices)


def test_a_group_learns_no_more_than_is_counted(made: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """The asked device counts its words for all who hear the answer; it needs no setting of the unit."""
    steps, ids, _ = _ask(made, 0.0, drafts="words")
    assert len(ids) == TOKENS
    assert steps["ben"] == steps["carl"] == [0, steps["ben"][1]]
    account = made.devices["anna"].device.services.account
    assert {each.peer for each in account.entries()} == {"group"}
    assert "drafts" not in made.ledger("anna")
    file = made.devices["anna"].folder / "decisions"
    until(lambda: file.exists() and len(decisions.last(file, 2)) == 1)
    (record,) = (each.record for each in decisions.last(file, 2))
    spent = sum(each["bits"] for each in record["disclosed"])
    assert sum(each["bits"] for each in record["words"]) == pytest.approx(spent, abs=MIN_CHARGE * TOKENS + 0.1)
