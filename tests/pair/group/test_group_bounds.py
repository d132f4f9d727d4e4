"""What a member's drafts may tell of its documents, in running daemons: bounded by token, and by day."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from family import PATIENT, beside_new
from msgspec.structs import replace
from peer_group import PeerGroup

from hocket_bus.messages import Draft
from hocket_daemon.aggregation.group.group_leader import GroupLeader
from hocket_daemon.engine.sampling import distribution as codec
from waiting import WAIT_S

BITS = 0.5
ASKED = {"mode": "graph", "members": ("ben",), "max_tokens": 12, "seed": 2, "documents": 2, "ignore_eos": True}


@pytest.fixture
def peer_group(tiny_models: dict[str, Path]) -> Iterator[PeerGroup]:
    with tempfile.TemporaryDirectory(prefix="hk") as name, ExitStack() as stack:
        made = PeerGroup(Path(name), tiny_models, stack)
        made.start_cloud(["anna", "ben"], {"family": ["anna", "ben"]})
        made.start_device("anna", group=replace(PATIENT, cloud=False))
        yield made


def drafts_of(
    made: PeerGroup, monkeypatch: pytest.MonkeyPatch, question: str
) -> tuple[dict[int, np.ndarray], list[str]]:
    """The distributions that the asked device has got of each step, dense, and the notices."""
    found: dict[int, np.ndarray] = {}
    take = GroupLeader._on_current

    def noted(self: GroupLeader, name: str, message: object) -> None:
        if isinstance(message, Draft):
            law = codec.decode(message.payload)
            dense = np.zeros(4096)
            dense[law.ids] = law.probabilities
            found.setdefault(message.step, dense)
        take(self, name, message)  # type: ignore[arg-type]

    monkeypatch.setattr(GroupLeader, "_on_current", noted)
    with made.devices["anna"].client() as client:
        stream = client.ask(question, deadline_s=WAIT_S, unknown="answer", **ASKED)  # type: ignore[arg-type]
        assert len(stream.result().token_ids) == 12
    return found, beside_new(stream.notices)


@pytest.mark.slow
def test_no_token_is_likelier_by_more_than_the_bound(peer_group: PeerGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a member that may say nothing of its passages, b = 0; and without a bound it says more."""
    laws = {}
    for name, bits in (("alone", 1e-9), ("bounded", BITS), ("free", 0.0)):
        made = peer_group.start_device("ben", group=replace(PATIENT, most_bits=bits), drafts_for=("anna",))
        laws[name], notices = drafts_of(peer_group, monkeypatch, "heron kala mira?")
        assert not notices
        peer_group.stop_device("ben", made)
    alone, bounded, free = (laws[name][0] for name in ("alone", "bounded", "free"))
    shared = (alone > 0) & (bounded > 0)
    assert shared.sum() > 20
    assert np.abs(np.log2(bounded[shared] / alone[shared])).max() <= BITS + 0.02
    assert np.abs(np.log2(bounded[shared] / alone[shared])).max() > BITS / 2
    both = (alone > 0) & (free > 0)
    assert np.abs(np.log2(free[both] / alone[both])).max() > 2 * BITS


@pytest.mark.slow
def test_a_member_whose_documents_have_told_all_leaves_and_the_answer_goes_on(
    peer_group: PeerGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By day: not with the next question, nor behind a restart."""
    bounds = replace(PATIENT, most_bits=1.0, bits_a_day=6.0)
    made = peer_group.start_device("ben", group=bounds, drafts_for=("anna",))
    drafts, notices = drafts_of(peer_group, monkeypatch, "kala mira duno?")
    assert drafts
    for _ in range(20):
        if drafts:  # what is left for one step may be too little for another
            drafts, notices = drafts_of(peer_group, monkeypatch, "kala mira duno?")
    assert not drafts
    assert notices == ["ben cannot take part: its documents have reached today's disclosure limit"]
    peer_group.stop_device("ben", made)
    peer_group.start_device("ben", group=bounds, drafts_for=("anna",))
    later, notices = drafts_of(peer_group, monkeypatch, "kala mira duno?")
    assert not later
    assert notices == ["ben cannot take part: its documents have reached today's disclosure limit"]
