"""What of private documents reaches the cloud: the laws of docs/privacy.md, and the search that checks them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exact import DTYPE
from hocket_bus import wire
from hocket_bus.messages import Begin, Draft, Message, Place, Prompt, Sampling, Sources, Status, Target
from hocket_daemon.engine.sampling.distribution import encode, truncate
from hocket_daemon.engine.settings import BUNDLED
from hocket_daemon.serving.stream.prefix import PrefixChain
from hocket_lab.bench.privacy import leaks, privacy
from hocket_lab.bench.privacy.canaries import canaries, documents, grams

BEGIN = Begin(
    session=bytes(16),
    epoch=0,
    prompt=Prompt(query="Who?"),
    task="answer",
    sampling=Sampling(seed=7),
    method="coupled",
    documents=1,
    eos=[],
    weights="static",
    reweigh_every=1,
    relevance_temperature=0.1,
    wire_mass=0.98,
)
PAYLOAD = encode(truncate(np.array([0.0, 0.1, 0.2, 0.7]), 0.98))


def drafted(before: list[int], token: int, payload: bytes = PAYLOAD, *, confirmed: int = 0) -> Draft:
    chain = PrefixChain(BEGIN.session, BEGIN.sampling.seed)
    for each in before:
        chain.append(each)
    return Draft(
        session=BEGIN.session, epoch=0, step=len(before), prefix=chain.digest, confirmed=confirmed, digest=0,
        token=token, log_h=0.0, decode_s=0.0, likelihoods=None, payload=payload,
    )  # fmt: skip


def target(first: int, ids: list[int]) -> Target:
    return Target(session=BEGIN.session, epoch=0, first=first, ids=ids, digest=0)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", [pytest.param(4, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.long)])
def test_no_sentence_reaches_the_cloud_but_in_the_answer(
    tmp_path: Path, published_model: Path | None, number: int
) -> None:
    """Four daemons, real models, every frame read: the claims of `hocket bench privacy`, 200 of 200 in the long run."""
    longest = 16 if number < 200 else 32
    model = str(published_model or BUNDLED)
    settings = privacy.Settings(number, longest, temperature=0.7, seed=3, model=model, dtype=DTYPE)
    assert privacy.run(settings, tmp_path / "privacy.json")
    shared, kept = json.loads((tmp_path / "privacy.json").read_text())["rows"]
    assert (shared["drafts"], kept["drafts"]) == (True, False)
    assert shared["distributions"] > number
    assert 0 < shared["bytes of a draft, median"] <= shared["bytes of a draft, 95 %"]
    assert kept["messages"] > number
    assert shared["answers"] == kept["answers"], "the same tokens in both settings"
    for row in (shared, kept):
        assert row["names"] == 0 < row["sourced"], "the reader is told the names, the cloud is not"
    assert kept["all"] == kept["answers"] <= shared["all"], "without drafts the cloud holds the answer and nothing more"


def test_who_only_asks_tells_no_more_than_chance() -> None:
    """A question names parts of its sentence, of one that was read as of one that was not: the control is asked too."""
    settings = privacy.Settings(canaries=40, max_tokens=1, temperature=0.0, seed=0)
    asked = privacy.Capture([], 0, 0, {})
    row = privacy._row(asked, canaries(40, 0), settings, drafts=False)
    for name in leaks.LIKELIEST:
        real, chance = (float(row[column] or 0) for column in (name, f"{name}, chance"))
        assert real > 0.2
        assert abs(real - chance) < 0.1


def test_the_sentences_are_different_and_no_question_gives_one_away() -> None:
    """200 of them, each in one document, with five words in a row that are nobody else's."""
    private = canaries(200, 0)
    assert len({canary.text for canary in private}) == len({canary.question for canary in private}) == 200
    assert "\n".join(documents(private).values()).split("\n") == [canary.text for canary in private]
    assert set(documents(private)).isdisjoint(documents(canaries(200, 1)))
    for canary in private:
        assert grams(canary.text).isdisjoint(grams(canary.question))
        others = {gram for other in private if other is not canary for gram in grams(other.text)}
        assert grams(canary.text) - others


def test_a_sentence_in_a_text_or_behind_a_distribution_is_found() -> None:
    """Forged messages: a question that quotes, another kind of message, bytes hidden in a payload."""
    private = canaries(3, 0)
    quoting = Begin(
        **{name: getattr(BEGIN, name) for name in BEGIN.__struct_fields__} | {"prompt": Prompt(query=private[1].text)}
    )
    assert privacy.in_texts([quoting], private) == [False, True, False]
    assert privacy.in_texts([drafted([], 1)], private) == [False] * 3
    other = Status(request=bytes(16), role="device", ready=True, facts={})
    assert privacy.in_texts([other], private) == [True] * 3
    long_winded = bytes((PAYLOAD[0] | 3 << 2, *PAYLOAD[1:7], *PAYLOAD[7:10])) + bytes(6) + PAYLOAD[10:]
    assert leaks.strange(drafted([], 1, long_winded))


def test_a_name_in_any_frame_is_found() -> None:
    """In a text, in bytes, whatever the case; in any message."""
    names = [name.removesuffix(".txt") for name in documents(canaries(20, 0))]
    place = [Place(document=f"notes/{names[1]}.txt", ordinal=0)]
    told = Sources(
        session=bytes(16), tokens=0, digest=0, places=place, unsupported=[], payload=names[2].upper().encode()
    )
    assert privacy.names_in([wire.encode(BEGIN), wire.encode(told)], names) == 2
    assert privacy.names_in([wire.encode(BEGIN)], names) == 0


def test_rejected_drafts_are_placed_and_searched() -> None:
    """By the digest of their prefix; what the answer says itself does not count, what it does not is found."""
    private = canaries(1, 0)
    words = private[0].text.split()
    sent: list[Message] = [
        BEGIN,
        target(0, [0, 1]),
        drafted([0, 1], 2),
        drafted([0, 1, 2], 3),
        drafted([0, 1, 2, 3], 4),
    ]
    sent += [target(2, [9])]
    (seen,) = leaks.sessions(sent, {})
    assert seen.answer == [0, 1, 9]
    assert seen.rejected() == [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4)]

    def text(ids: list[int]) -> str:
        return " ".join(words[each] for each in ids)

    published = {"Who?": [0, 1, 9]}
    captured = privacy.Capture(sent, 0, 0, published)
    assert privacy.beyond(captured, [seen], private, text) == [grams(" ".join(words[:5]))]
    answered = privacy.Capture(sent, 0, 0, published | {"Why?": [0, 1, 2, 3, 4]})
    assert privacy.beyond(answered, [seen], private, text) == [set()]
    unpublished = privacy.Capture([BEGIN, target(0, [0, 1, 2, 3, 4])], 0, 0, {"Who?": [0, 1]})
    seen_there = leaks.sessions(unpublished.sent, unpublished.published)
    assert privacy.beyond(unpublished, seen_there, private, text) == [grams(" ".join(words[:5]))]


def test_the_cloud_knows_the_tokens_that_it_computes_itself() -> None:
    """No word is sent: drafts are placed by what they say is confirmed, and the cloud ends with the whole answer."""
    sent = [BEGIN, drafted([], 1), drafted([1], 2), drafted([1, 9], 3, confirmed=2), drafted([1, 9, 3], 4, confirmed=2)]
    (seen,) = leaks.sessions(sent, {"Who?": [1, 9, 3, 5]})
    assert seen.answer == [1, 9, 3, 5]
    assert seen.rejected() == [(1, 2), (1, 9, 3, 4)]


def test_what_the_device_wrote_alone_is_not_the_clouds() -> None:
    """A cloud that is left knows the tokens of both; where it came back it was told what it had missed."""
    together = [privacy.of_both([1, 9, 3, 5], solo) for solo in ([2, 3], [1], [0, 1, 2, 3])]
    assert together == [[1, 9], [1, 9, 3, 5], []]
    (seen,) = leaks.sessions([BEGIN, drafted([], 1)], {"Who?": together[0]})
    assert seen.answer == [1, 9]


def test_the_rebuilt_share_grows_with_what_the_cloud_may_think_of() -> None:
    """Tokens 1 2 3 stand in the answer; 2 and 1 could follow 2 3, 2 more likely; 7 8 9 is only ever known otherwise."""
    sent = [BEGIN, target(0, [1, 2, 3]), drafted([1, 2, 3], 3), target(3, [3])]
    seen = leaks.sessions(sent, {})
    own = {(1, 2, 3), (2, 3, 1), (2, 3, 2), (7, 8, 9)}
    shares = [leaks.rebuilt(own, leaks.continuations(seen, [], likeliest)) for likeliest in (None, 0, 1, 2, 3)]
    assert shares == [0.25, 0.25, 0.25, 0.5, 0.75]
    assert leaks.rebuilt(own, leaks.continuations(seen, [[7, 8, 9]], None)) == 0.5
