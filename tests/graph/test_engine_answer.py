"""Laws of what is believed of an engine's answer: names that the chunk has, and pairs of them."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket_retrieval.graph.answer import EXAMPLE, EXAMPLE_ANSWER, BadAnswer, body_of, reading_of
from hocket_retrieval.text.phrases import MAX_MENTIONS, MAX_NAME_WORDS, MAX_WORD_CHARS, is_name, is_specific

TEXT = (
    "Tulips came with the Dutch East India Company. Ada Merrow's brother, Tomas Quill, bakes rye bread at the Bank of "
    "Fendwick in the U.S. and sells Rye\nBread to a crane-driver. Harbours rest."
)


def answered(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


def said(entities: list[object], relations: object = ()) -> bytes:
    return answered(json.dumps({"entities": entities, "relations": relations}))


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("Ada Merrow", "Ada Merrow"),
        ("ada merrow", "Ada Merrow"),
        ("Ada Merrow's", "Ada Merrow"),
        ("the Bank of Fendwick", "Bank of Fendwick"),
        ("RYE BREAD", "rye bread"),
        ("Tulips", "tulips"),
        ("Harbours.", "harbours"),
        ("crane-driver", "crane-driver"),
        ("U.S", "U.S"),
        ("Dutch East India", "Dutch East India"),
    ],
)
def test_an_entity_is_spelled_as_the_chunk_has_it(name, spelled):
    """Without small words; a capital that begins a sentence alone makes no name."""
    assert reading_of(said([name]), TEXT).mentions == [spelled]


@pytest.mark.parametrize(
    "name",
    [
        "Bram Oakes",
        "Merr",
        "Tulip",
        "Merrow's brother, Tomas",
        "Tomas Quill, bakes",
        "Ada Merrow's brother, Tomas Quill, bakes rye bread",
        "brother Tomas Quill bakes rye",
        "the",
        "of the",
        "",
        " ",
        ".*",
        "Fendwick in the U.S. and sells Rye",
    ],
)
def test_what_the_chunk_does_not_hold_as_words_is_left_out(name):
    """Nor is what is too long, nothing but small words, or runs over a comma; what else was said stays."""
    with pytest.raises(BadAnswer):
        reading_of(said([name]), TEXT)
    assert reading_of(said([name, "Ada Merrow"]), TEXT).mentions == ["Ada Merrow"]


def test_relations_are_pairs_of_two_kept_mentions():
    """Each once, whatever their order; of others nothing is said."""
    relations = [
        ["Tomas Quill", "Ada Merrow"], ["Ada Merrow", "Tomas Quill"], ["Ada Merrow", "ada merrow"],
        ["Ada Merrow", "Bram Oakes"], ["Ada Merrow", "knows", "Tomas Quill"], [], ["Ada Merrow"],
    ]  # fmt: skip
    reading = reading_of(said(["Ada Merrow", "ada merrow", "Tomas Quill", "Bram Oakes"], relations), TEXT)
    assert (reading.mentions, reading.relations) == (["Ada Merrow", "Tomas Quill"], [("Ada Merrow", "Tomas Quill")])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"null",
        b'{"choices": []}',
        answered(None),
        answered(["{}"]),
        answered("Ada Merrow and Tomas Quill."),
        answered("} {"),
        answered('{"entities": "Ada Merrow"}'),
        answered('{"entities": [1]}'),
        answered('{"entities": ["Ada Merrow"], "relations": ["Ada Merrow"]}'),
        answered('{"relations": []}'),
        answered("{" * 10_000 + "}" * 10_000),
        said([]),
    ],
)
def test_what_is_no_such_object_is_a_bad_answer(answer):
    """Whole, whatever else is in it."""
    with pytest.raises(BadAnswer):
        reading_of(answer, TEXT)


def test_an_object_may_stand_in_a_text():
    """Some models say that it is JSON."""
    fenced = '```json\n{"entities": ["Ada Merrow"], "why": {"x": []}}\n```\nThat is all.'
    assert reading_of(answered(fenced), TEXT).mentions == ["Ada Merrow"]


@pytest.mark.parametrize(
    "content",
    [
        "<think>As {entities}: {}, then {x}.</think>\n%s",
        "{entities} are {wanted}. %s",
        "```json\n%s\n```\nThe set {Ada} has one {element}.",
        "~~~\n%s\n~~~ {",
        '{"answer": %s}',
        '{"entities": ["Tomas Quill"]}\nOn second thought: %s',
        "[%s]",
    ],
)
def test_braces_around_an_object_are_no_part_of_it(content):
    """Of several objects the last counts. Everything between the first and the last brace was taken for the object;
    the one fence that was tested had no brace behind it.
    """
    reply = '{"relations": [], "entities": ["Ada Merrow", "{x}"]}'
    assert reading_of(answered(content % reply), TEXT).mentions == ["Ada Merrow"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": [{"type": "text", "text": '{"entities": ["Ada'}, {"type": "text", "text": ' Merrow"]}'}]},
        {"content": [{"type": "thinking", "thinking": "{"}, None, {"type": "output_text", "text": "%s"}]},
        {"content": None, "reasoning_content": "%s"},
        {"content": "", "reasoning_content": "%s"},
        {"content": "%s", "reasoning_content": '{"entities": ["Tomas Quill"]}'},
    ],
)
def test_an_answer_may_come_in_parts_or_as_thought(message):
    """Servers name a text so that one model writes; only texts were ever tested."""
    answer = json.dumps({"choices": [{"message": message}]}).replace("%s", r"{\"entities\": [\"Ada Merrow\"]}")
    assert reading_of(answer.encode(), TEXT).mentions == ["Ada Merrow"]


@given(
    st.lists(st.one_of(st.sampled_from(TEXT.split()), st.text(max_size=12)), max_size=60),
    st.integers(1, 6),
)
def test_whatever_it_says_only_words_of_the_chunk_are_kept(words, length):
    """In bounds, and no more than the rules would keep."""
    entities = [" ".join(words[at : at + length]) for at in range(len(words))]
    try:
        reading = reading_of(said(entities, [entities[at : at + 2] for at in range(len(words))]), TEXT)
    except BadAnswer:
        return
    flat = " ".join(TEXT.split())
    assert len(reading.mentions) == len(set(reading.mentions)) <= MAX_MENTIONS
    for mention in reading.mentions:
        assert re.search(rf"(?<!\w){re.escape(mention)}(?!\w)", flat, re.IGNORECASE)
        assert is_name(mention) is (mention in flat and mention != mention.lower())
        parts = mention.split()
        assert len(parts) <= MAX_NAME_WORDS
        assert max(map(len, parts)) <= MAX_WORD_CHARS
        assert is_specific(parts[0].lower())
    assert all(set(pair) <= set(reading.mentions) and len(set(pair)) == 2 for pair in reading.relations)


def test_a_chunk_is_asked_for_by_its_text_and_the_models_name_alone():
    """Neither its document's name nor anything else of this machine."""
    asked = json.loads(body_of(TEXT, "m"))
    assert asked.keys() == {"model", "messages", "max_tokens", "temperature", "stream", "chat_template_kwargs"}
    assert asked["chat_template_kwargs"] == {"enable_thinking": False}
    assert asked["messages"][-1] == {"role": "user", "content": TEXT}
    others = json.loads(body_of("", "m"))["messages"][:-1]
    assert asked["messages"][:-1] == others


def test_the_example_that_is_shown_keeps_to_what_is_asked():
    """It would be taken as it is."""
    reading = reading_of(answered(EXAMPLE_ANSWER), EXAMPLE)
    assert sorted(reading.mentions) == ["Hove", "Lind", "Orlan Museum", "Peer Aas", "tidal clock"]
    assert len(reading.relations) == 4


@pytest.mark.parametrize(
    ("content", "finish", "why"),
    [("<think>Okay, they want", "length", "length"), ("I cannot", "stop", "no JSON"), (None, "stop", "no JSON")],
)
def test_a_bad_answer_says_why(content, finish, why):
    """So that status can: one that was cut in the middle of a thought needs another model, or one that thinks less."""
    cut = {"choices": [{"finish_reason": finish, "message": {"content": content}}]}
    with pytest.raises(BadAnswer, match=why):
        reading_of(json.dumps(cut).encode(), TEXT)


def test_what_is_thought_before_an_answer_is_none_of_it():
    """Even where it holds JSON."""
    content = '<think>{"entities": ["nobody"]}</think>' + EXAMPLE_ANSWER
    answer = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    assert "Orlan Museum" in reading_of(answer, EXAMPLE).mentions
