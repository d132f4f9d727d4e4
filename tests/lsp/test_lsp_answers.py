"""Laws of answers: each is for the text and the place that it is asked for, however editors count and change them."""

from __future__ import annotations

import asyncio
import random

import pytest
from editor import UTF_8, UTF_16, UTF_32, Editor, with_editor
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled
from scripted_device import ScriptedDevice, about

from shortened import shortened
from waiting import WAIT_S, until

TEXTS = {
    "plain": "Dear Ms Varga,\n\nthe ferry to",
    "emoji": "🙂 a👍🏽b\n👨‍👩‍👧 é\u0301 🇨🇭",
    "ideographs": "渡し船は\r\n十四クローネ𠮷です",
    "right to left": "שלום 🙂 עולם\rمرحبا بالعالم",
    "no line ends": "a\x0cb\u2028c\x85d\x1ce\x0bf",
    "blank lines": "\n\r\n\r\r\n",
    "nothing": "",
}
PIECES = ["a", " ferry", "\n", "\r", "\r\n", "🙂", "𠮷", "é", "שלום", "渡し", "\u2028", "\x0c", ""]


@pytest.mark.parametrize("encoding", shortened([UTF_16, UTF_8, UTF_32], 1))
def test_every_place_of_every_text_is_understood(device: ScriptedDevice, encoding: types.PositionEncodingKind) -> None:
    """The cursor is the character that the editor means, in the units that were agreed on."""

    async def law(editor: Editor) -> None:
        assert editor.encoding == encoding
        for name, text in TEXTS.items():
            editor.open(name, text)
            for offset in range(len(text) + 1):
                if text[offset - 1 : offset + 1] != "\r\n":
                    assert await editor.told(name, editor.place(text, offset)) == about(text, offset)
            editor.close(name)

    asyncio.run(with_editor(device.endpoint, law, encodings=None if encoding == UTF_16 else [encoding]))


@pytest.mark.slow
def test_places_that_are_none_are_the_nearest_before(device: ScriptedDevice) -> None:
    """Behind a line's end, behind the last line, and within a character of two units."""

    async def law(editor: Editor) -> None:
        text = "a🙂\r\nbc"
        editor.open("a", text)
        for line, unit, offset in [(0, 99, 2), (1, 99, 6), (9, 0, 6), (0, 2, 1)]:
            there = editor.place(text, offset)
            assert await editor.told("a", types.Position(line, unit), at=there) == about(text, offset)

    asyncio.run(with_editor(device.endpoint, law))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", shortened([UTF_16, UTF_8], 1))
def test_changes_piece_by_piece_give_the_same_text(
    device: ScriptedDevice, encoding: types.PositionEncodingKind
) -> None:
    """Whatever is changed in whatever order, several changes at once and all of it now and then."""
    chance = random.Random(23)

    async def law(editor: Editor) -> None:
        text = TEXTS["emoji"]
        editor.open("a", text)
        for _ in range(300):
            changes: list[types.TextDocumentContentChangeEvent] = []
            for _ in range(chance.choice([1, 1, 1, 3])):
                change, text = changed(chance, text, editor)
                changes.append(change)
            editor.change("a", *changes)
            offset = chance.randint(0, len(text))
            offset -= text[offset - 1 : offset + 1] == "\r\n"
            assert await editor.told("a", editor.place(text, offset)) == about(text, offset)

    asyncio.run(with_editor(device.endpoint, law, encodings=[encoding]))


def changed(chance: random.Random, text: str, editor: Editor) -> tuple[types.TextDocumentContentChangeEvent, str]:
    """A change, and the text behind it; now and then all of the text at once, so that it stays short."""
    if chance.random() < 0.05:
        text = chance.choice(list(TEXTS.values()))
        return types.TextDocumentContentChangeWholeDocument(text), text
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice([0, 0, 0, 1, 2, 10]))
    start, end = (place - (text[place - 1 : place + 1] == "\r\n") for place in (start, end))
    piece = "".join(chance.choices(PIECES, k=chance.choice([1, 1, 4])))
    places = types.Range(editor.place(text, start), editor.place(text, end))
    return types.TextDocumentContentChangePartial(places, piece), text[:start] + piece + text[end:]


def test_items_hold_the_word_that_is_begun(device: ScriptedDevice) -> None:
    """All of the suggestion, and its first word; nothing where nothing follows."""

    async def law(editor: Editor) -> None:
        editor.open("a", "The ferry to Bright")
        whole, word = await editor.listed("a", types.Position(0, 19))
        begun = types.Range(types.Position(0, 13), types.Position(0, 19))
        assert whole.text_edit == types.TextEdit(begun, "Brightholm costs 14")
        assert word.text_edit == types.TextEdit(begun, "Brightholm")
        assert (whole.filter_text, word.label) == ("Brightholm costs 14", "Brightholm")
        device.suggest = lambda text, cursor: ""
        editor.replace("a", "The end.")
        assert await editor.listed("a", types.Position(0, 8)) == []
        assert await editor.grey("a", types.Position(0, 8)) is None

    device.suggest = lambda text, cursor: "holm costs 14"
    asyncio.run(with_editor(device.endpoint, law))


def test_a_text_that_changes_meanwhile_gets_no_answer(device: ScriptedDevice) -> None:
    """Not that of the older text, and not at last: the question for the newer one is answered."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        older = editor.grey("a", types.Position(0, 3))
        await asyncio.to_thread(device.asked.acquire)
        editor.replace("a", "one two")
        assert await older is None
        newer = editor.grey("a", types.Position(0, 7))
        moved = editor.grey("a", types.Position(0, 5))
        assert await newer is None
        device.release()
        assert await moved == about("one two", 5)

    device.hold()
    asyncio.run(with_editor(device.endpoint, law))


def test_a_question_is_for_the_text_before_the_change_behind_it(device: ScriptedDevice) -> None:
    """Also where both arrive in one piece: its place is looked for in no other text."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one\ntwo")
        assert await editor.told("a", types.Position(0, 3)) == about("one\ntwo", 3)
        held = Held()
        pipe = editor.client.protocol.writer
        assert pipe is not None
        editor.client.protocol.set_writer(held)
        asked = editor.grey("a", types.Position(1, 3))
        editor.replace("a", "one, and more\ntwo, and more")
        editor.client.protocol.set_writer(pipe)
        pipe.write(b"".join(held.fragments))
        assert await asked in (None, about("one\ntwo", 7))
        await asyncio.to_thread(until, lambda: len(device.seen) > 1)
        assert device.seen[1] == ("one\ntwo", 7)

    asyncio.run(with_editor(device.endpoint, law))


def test_a_question_that_is_taken_back_leaves_the_next_one_alone(device: ScriptedDevice) -> None:
    """Editors take the last one back at each key."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        for _ in range(3):
            asked = editor.grey("a", types.Position(0, 3), number=7)
            editor.client.cancel_request(types.CancelParams(7))
            with pytest.raises(JsonRpcRequestCancelled):
                await asked
        device.release()
        assert await editor.told("a", types.Position(0, 3)) == about("one", 3)

    device.hold()
    asyncio.run(with_editor(device.endpoint, law))


def test_the_first_question_waits_for_memory_that_is_on_its_way(device: ScriptedDevice) -> None:
    """And gets the suggestion with it; where none comes in time, the one without."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        asked = editor.grey("a", types.Position(0, 3))
        await asyncio.to_thread(device.asked.acquire)
        device.remember(", remembered")
        assert await asked in (None, about("one", 3) + ", remembered")  # None: a slow machine took longer than 5 s
        assert await editor.told("a", types.Position(0, 3)) == about("one", 3) + ", remembered"
        device.expects_s = 0.1
        editor.open("b", "two")
        assert await editor.told("b", types.Position(0, 3)) == about("two", 3) + ", remembered"

    device.expects_s = WAIT_S
    asyncio.run(with_editor(device.endpoint, law))


def test_an_editor_that_can_be_told_asks_again_when_newer_memory_has_come(device: ScriptedDevice) -> None:
    """Another one gets it at its next question."""

    async def law(editor: Editor) -> None:
        editor.open("a", "one")
        assert await editor.told("a", types.Position(0, 3)) == about("one", 3)
        device.remember(", remembered")
        await asyncio.to_thread(until, lambda: editor.refreshed > 0)
        assert await editor.told("a", types.Position(0, 3)) == about("one", 3) + ", remembered"

    asyncio.run(with_editor(device.endpoint, law))


class Held:
    """What is written is kept."""

    def __init__(self) -> None:
        self.fragments: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.fragments.append(data)

    def close(self) -> None:
        raise AssertionError
