"""A device daemon beside a cloud that lies: the reader is told, and the private value stays at home."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from golden import Shelf
from harness import pair
from liar import Liar
from transformers import AutoTokenizer

import hocket_models
from hocket_client import Client
from hocket_daemon.privacy.egress import EgressSettings
from waiting import WAIT_S

NOTE = (
    "Notes for the cabin at Lumtarn. The password for the wireless network at Lumtarn is quartzheron58. The key hangs "
    "behind the woodpile. Turn off the water when you leave."
)
QUESTION = "Where does the key of the cabin hang?"
BEGINNING = " The password for the wireless network at Lumtarn is"
VALUE = "quartzheron58"


@contextmanager
def beside(then: Literal["yield", "silence"], log_h: float, *, trust: bool) -> Iterator[tuple[Liar, Client]]:
    """A device that keeps its drafts and has read the note, and the liar."""
    wanted = AutoTokenizer.from_pretrained(hocket_models.path("device")).encode(BEGINNING, add_special_tokens=False)
    models = {"device": hocket_models.path("device")}
    with tempfile.TemporaryDirectory(prefix="hk") as folder, pair(Path(folder), models, start=False) as made:
        made.stack.callback(Shelf(made.endpoint("device-retrieval"), "device", [NOTE]).close)
        liar = Liar(made.endpoint("cloud"), wanted, then=then, log_h=log_h)
        made.stack.callback(liar.close)
        made.start_device(
            egress=EgressSettings(drafts=False), trust_cloud=trust, peer_wait_s=0.5, connect_wait_s=WAIT_S
        )
        yield liar, made.client()


def ask(client: Client) -> tuple[str, list[str], str]:
    """The answer's text, the notices, and by which method it ended."""
    asked = client.ask(QUESTION, weights="static", temperature=0.0, documents=1, max_tokens=30, deadline_s=WAIT_S)
    done = asked.result()
    return done.text, asked.notices, done.aggregation.method


def text_of(ids: list[int]) -> str:
    return str(AutoTokenizer.from_pretrained(hocket_models.path("device")).decode(ids))


def test_a_cloud_that_is_trusted_hears_the_value() -> None:
    """What the tests below prevent does happen without the rule."""
    with beside("yield", 7.0, trust=True) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert notices == []
        assert VALUE in text_of(liar.told)


def test_a_forced_beginning_ends_alone_with_a_notice_and_the_value_is_not_heard() -> None:
    """Not its first token; the reader has it, from the device alone."""
    with beside("yield", 7.0, trust=False) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert [notice for notice in notices if "do not fit" in notice and notice.endswith("; answering alone")]
        assert liar.parted
        assert text_of(liar.told).strip() == BEGINNING.strip()


def test_a_cloud_that_falls_silent_behind_a_push_does_not_hear_what_it_missed() -> None:
    """It could otherwise yield by silence, and be told all when it is greeted again."""
    with beside("silence", 7.0, trust=False) as (liar, client):
        text, notices, _ = ask(client)
        assert VALUE in text
        assert [notice for notice in notices if notice.endswith("answering alone")]
        assert liar.parted
        assert VALUE not in text_of(liar.told)


def test_a_claim_out_of_range_ends_alone_with_a_notice_before_any_token() -> None:
    with beside("yield", 1e6, trust=False) as (liar, client):
        _, notices, method = ask(client)
        assert method == "alone"
        assert [notice for notice in notices if "a relevance that no scorer gives" in notice]
        assert liar.parted
        assert liar.told == []
