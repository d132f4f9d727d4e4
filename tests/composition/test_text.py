"""Laws of the text that is composed: what is edited, which part of it is read, and what is asked of it."""

from __future__ import annotations

import random
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_text import REQUEST, Typist

from hocket_bus.errors import BadConfiguration, BadRequest
from hocket_bus.messages import MAX_QUERY_WORDS, Behind, Compose, Edit, Error, Remembered, Suggestion, Takeaway
from hocket_client.composer import EditedText
from hocket_daemon.composition.coordinator import MAXIMUM, MINIMUM, Coordinator, new_part
from hocket_daemon.composition.document import Document
from hocket_daemon.composition.memory import Takeaways
from hocket_daemon.composition.redaction import Redaction
from hocket_daemon.composition.remembering import finished
from hocket_daemon.composition.repeat import without_repeat
from hocket_daemon.composition.window import MAX_TYPED, Encoding, blocks, typed_at_end

WORDS = ["ferry", "Brightholm,", "1874.", "the", "a", "naïve", "🙂", "שלום", "東京"]
TOPIC = bytes(16)


def letters(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def edit(at: int, removed: int, inserted: str, cursor: int, base: int = 0) -> Edit:
    return Edit(request=REQUEST, base=base, version=base + 1, at=at, removed=removed, inserted=inserted, cursor=cursor)


@pytest.mark.parametrize("seed", range(5))
def test_client_and_device_have_the_same_text(seed: int) -> None:
    """Whatever changes: the edit that a manuscript sends makes a document what the manuscript is."""
    typist = Typist(seed, WORDS, "Dear")
    edited = EditedText(TOPIC, typist.text, None, tokens=15, memory=True)
    document = Document.of(edited.whole())
    sent = typed = 0
    for _ in typist.edits(300):
        change = edited.change(typist.text, typist.cursor)
        assert document.apply(change)
        assert (document.text, document.cursor, document.version) == (typist.text, typist.cursor, typist.version)
        sent, typed = sent + len(change.inserted), typed + len(typist.text)
    assert sent < typed / 5


def test_an_edit_of_another_version_is_not_made() -> None:
    document = Document("abc", 3, 4)
    assert not document.apply(edit(0, 0, "x", 1, base=3))
    assert document.text == "abc"


@pytest.mark.parametrize(("at", "removed", "cursor"), [(4, 0, 0), (2, 2, 0), (0, 0, 9)])
def test_a_change_outside_the_text_is_refused(at: int, removed: int, cursor: int) -> None:
    document = Document("abc", 3, 0)
    with pytest.raises(BadRequest):
        document.apply(edit(at, removed, "", cursor))
    assert document.text == "abc"


@pytest.mark.parametrize("seed", range(5))
def test_an_anchor_keeps_its_place(seed: int) -> None:
    """Behind changes that leave the letter at the anchor alone, it is still the anchor's."""
    chance = random.Random(seed)
    document = Document("".join(map(chr, range(200, 500))), 0, 0, anchor=150)
    for version in range(100):
        letter, anchor = document.text[document.anchor], document.anchor
        at = chance.randrange(len(document.text))
        removed = min(chance.randrange(3), max(0, len(document.text) - at - 1))
        assert document.apply(edit(at, removed, "x" * chance.randrange(3), 0, base=version))
        if at + removed <= anchor or at > anchor:
            assert document.text[document.anchor] == letter
        assert document.anchor <= len(document.text)


@pytest.mark.parametrize("seed", range(3))
def test_ids_are_a_function_of_the_text_alone(seed: int) -> None:
    """A text that was typed has the ids of one that came at once, though most of its blocks were kept."""
    typist = Typist(seed, WORDS)
    calls: list[str] = []
    encoding = Encoding(lambda text: (calls.append(text), letters(text))[1], lambda _: True)
    for _ in typist.edits(150):
        assert encoding.ids(typist.text) == Encoding(letters, lambda _: True).ids(typist.text)
        assert "".join(blocks(typist.text)) == typist.text
    assert sum(map(len, calls)) < 150 * len(typist.text) / 2 or len(typist.text) < 500


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("The quick bro", " bro"),
        ("The quick ", " "),
        ("Th", "Th"),
        ("", ""),
        ("end.\n\n", "\n\n"),
        ("a " + "x" * 100, "x" * MAX_TYPED),
        ("東京 は", ""),
        ("(wor", "(wor"),
    ],
)
def test_what_is_healed(text: str, typed: str) -> None:
    assert typed_at_end(text) == typed


def test_what_cannot_be_spelled_is_read() -> None:
    window = Encoding(letters, lambda typed: "🙂" not in typed).window("ok 🙂")
    assert (window.text, window.typed) == ("ok 🙂", "")


@pytest.mark.parametrize("maximum", [1, 10, 64])
def test_a_window_starts_with_a_word_and_holds_no_more_than_it_may(maximum: int) -> None:
    text = " ".join(random.Random(maximum).choices(["ferry", "the", "Brightholm"], k=500))
    start = Encoding(letters, lambda _: True).start(text, maximum)
    assert len(text) - start <= maximum
    assert start == len(text) or maximum < 12 or text[start - 1] == " "


@pytest.mark.parametrize(
    ("suggestion", "behind", "shown"),
    [
        (" costs 14 crowns.", " costs 14 crowns. And so on.", ""),
        (" leaves and costs 14", " costs 14 crowns.", " leaves and"),
        (" leaves", " costs 14 crowns.", " leaves"),
        (" leaves", "", " leaves"),
        ("120 litres. litres.", " litres.", "120"),
        (" litres. litres.", " litres of water.", ""),
        ("120 lit", " litres.", "120"),
        ("120 litres. The fuel", " litres.", "120"),
        ("120 litres of fuel", " litres of water", "120"),
        (" The Boat is red", "\n\nthe boat is blue", ""),
        (".", ".", ""),
        (" litres (old).", ".", " litres (old)"),
        (" holds 85 litres) for", ") for more", " holds 85 litres"),
        ("each", "home", ""),
        ("each", "\nhome", "each"),
        (" leaves at nine", ", and so do I.", " leaves at nine"),
        (" leaves, and", ", and so do I.", " leaves"),
        ("船が九時に出る", "出る。", "船が九時に"),
        (" leaves", " \n", " leaves"),
    ],
)
def test_nothing_behind_the_cursor_is_suggested_again(suggestion: str, behind: str, shown: str) -> None:
    """Though it is suggested twice, in part, with more behind it, or first of all: only a whole end was cut before."""
    assert without_repeat(suggestion, behind) == shown


@given(st.text(alphabet="ab .,)\n", max_size=20), st.text(alphabet="ab .,)\n", max_size=20))
def test_a_suggestion_neither_begins_nor_ends_with_what_follows(suggestion: str, behind: str) -> None:
    """Whatever both are; and it is a beginning of what was suggested."""
    shown = without_repeat(suggestion, behind)
    assert suggestion.startswith(shown)
    ends = (shown[at:] for at in range(len(shown)))
    assert not any(behind.startswith(end) for end in ends if end.strip())
    assert not shown.strip() or not behind.strip() or shown.split(maxsplit=1)[0] != behind.split(maxsplit=1)[0]


@pytest.mark.parametrize("tau", [0, 5, 20])
def test_memory_is_asked_for_when_more_than_tau_tokens_changed(tau: int) -> None:
    coordinator = Coordinator(tau)
    text, asked_at = "", []
    for at, word in enumerate(f"word{at} " for at in range(100)):
        text += word
        if coordinator.ask(list(range(at + 1)), text):
            asked_at.append(at)
            coordinator.replied(1)
    gaps = [b - a for a, b in pairwise(asked_at)]
    assert set(gaps) == {max(tau + 1, 3)}  # a query has three words at least


def test_one_request_at_a_time_and_the_newest_context_is_next() -> None:
    coordinator = Coordinator(5)
    assert coordinator.ask([1, 2, 3], "one two three")
    assert not coordinator.ask(list(range(50)), "one two three four five six")
    coordinator.replied(1)
    assert coordinator.ask(list(range(50)), "one two three four five six") == "four five six"


def test_what_was_not_answered_is_asked_again() -> None:
    coordinator = Coordinator(0)
    coordinator.ask([1, 2, 3], "one two three")
    coordinator.failed()
    assert not coordinator.ask([1, 2, 3], "one two three")  # nothing has changed
    assert coordinator.ask([1, 2, 3, 4], "one two three four") == "one two three four"


def test_a_pause_asks_for_any_new_word_with_those_before_it() -> None:
    """Once: a writer who rests is not asked for again."""
    coordinator = Coordinator(10)
    assert coordinator.ask([1, 2, 3], "The toll at ") == "The toll at"
    coordinator.replied(1)
    text = "The toll at Osprey "
    assert not coordinator.ask([1, 2, 3, 4], text)
    assert coordinator.ask([1, 2, 3, 4], text, paused=True) == "The toll at Osprey"
    coordinator.replied(1)
    assert not coordinator.ask([1, 2, 3, 4], text, paused=True)


def test_a_threshold_that_sets_itself_keeps_its_bounds() -> None:
    coordinator = Coordinator("auto")
    for news, bound in ((0, MAXIMUM), (3, MINIMUM)):
        for _ in range(10):
            before = coordinator.tau
            coordinator.replied(news)
            assert (coordinator.tau - before) * (1 if news == 0 else -1) >= 0
        assert coordinator.tau == bound


@pytest.mark.parametrize(
    ("old", "new", "query"),
    [
        ("", "one two three", "one two three"),
        ("one two", "one two three", "three"),
        ("one tw", "one two three", "two three"),
        ("one three", "one two three", "two three"),
        ("same", "same", ""),
        ("", "w " * 100, " ".join(["w"] * MAX_QUERY_WORDS)),
    ],
)
def test_the_query_is_what_is_new(old: str, new: str, query: str) -> None:
    assert new_part(old, new) == query


def test_the_oldest_takeaways_go_and_none_is_there_twice() -> None:
    memory = Takeaways(10, lambda text: len(text.split()))
    told = [Takeaway(text=f"takeaway number {at} here", document=f"d{at}") for at in range(5)]
    for at, takeaway in enumerate(told):
        assert memory.add("cloud", [takeaway, takeaway], float(at)) == [takeaway]
        assert memory.add("cloud", [takeaway], 99.0) == []
        assert memory.changed_s == at
        assert sum(item.tokens for item in memory.items) <= 10
    assert [item.takeaway for item in memory.items] == told[-2:]
    assert memory.add("cloud", [Takeaway(text="w " * 50, document="long")], 9.0) == []


@pytest.mark.parametrize(
    "secret",
    ["anna.varga@example.org", "+46 70 123 45 67", "1234567", "4111-1111-1111-1111", "(020) 123.456", "case QX-7"],
)
def test_what_is_redacted_does_not_leave(secret: str) -> None:
    redact = Redaction([r"case [A-Z]+-\d+"])
    shown = redact(f"Write to {secret} about the ferry of 1874.")
    assert not any(part in shown for part in secret.split() if len(part) > 4)
    assert shown.startswith("Write to ")
    assert shown.endswith(" about the ferry of 1874.")


@pytest.mark.parametrize(
    ("text", "done"),
    [("write to anna.var", "write to "), ("write to ", "write to "), ("anna", ""), ("", ""), ("a\nb", "a\n")],
)
def test_a_word_that_is_being_typed_does_not_leave(text: str, done: str) -> None:
    assert finished(text) == done


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(BadConfiguration):
        Redaction(["("])


def test_only_suggestions_for_the_text_as_it_stands_are_handed_out() -> None:
    edited = EditedText(TOPIC, "a", None, tokens=15, memory=True)

    def suggestion(version: int) -> Suggestion:
        return Suggestion(
            request=edited.request, version=version, text=" b", ms=1.0, passes=1, memory_age_s=0.0, sources=[]
        )

    assert edited.feed(suggestion(0))[0] == [suggestion(0)]
    edited.change("ab", None)
    assert edited.suggestion is None
    assert edited.feed(suggestion(0)) == ([], [])
    assert edited.feed(suggestion(1))[0] == [suggestion(1)]
    assert edited.taken(1) == " b"
    whole = edited.feed(Behind(request=edited.request))[1]
    assert isinstance(whole[0], Compose)
    assert (whole[0].text, whole[0].version) == ("ab", 1)
    remembered = Remembered(request=edited.request, side="cloud", takeaways=[], generator="extractive")
    assert edited.feed(remembered)[0] == [remembered]
    with pytest.raises(BadRequest):
        edited.feed(Error(code="bad_request", text="no", remedy="", request=edited.request))


def test_a_suggestion_settles_when_nothing_newer_is_on_its_way() -> None:
    """Or when it has not come in the time that the device says; another text has none yet."""
    edited = EditedText(TOPIC, "a", None, tokens=15, memory=True)

    def come(expects_s: float) -> None:
        edited.feed(
            Suggestion(
                request=edited.request, version=edited.version, text=" b", ms=1.0, passes=1, memory_age_s=0.0,
                expects_s=expects_s,
            )
        )  # fmt: skip

    assert edited.settles_s == inf
    come(60.0)
    assert 0 < edited.settles_s <= 60
    come(0.0)
    assert edited.settles_s == 0
    edited.change("ab", None)
    assert edited.settles_s == inf


@pytest.mark.parametrize("cursor", [-1, 3])
def test_a_cursor_outside_is_refused_before_it_is_sent(cursor: int) -> None:
    with pytest.raises(BadRequest):
        EditedText(TOPIC, "ab", cursor, tokens=15, memory=True)
