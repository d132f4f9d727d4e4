"""Laws of grey text in Neovim: it is for the text as it stands, and what is taken of it is in the buffer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from neovim import Neovim, neovim
from scripted_device import ScriptedDevice

from waiting import until

STORY = """Dear Ms Varga, the ferry to Brightholm costs 14 crowns 🙂 and leaves at nine from the old pier.
渡し船は十四クローネです 𠮷野 and שלום to everybody on the island, whoever they are and wherever they live.
It comes back at noon, at four and at seven; on Sundays it stays where it is, since nobody wants to leave.
Bring boots: the path along the cliff is wet until June, and the inn has none to lend, as you know.
Yours, and everybody's, until we meet again at the old pier with the dogs,
Linnea"""
WORDS = 4


def story(text: str, cursor: int) -> str:
    """What follows in the story, up to four words of the line; nothing for a text that is another one."""
    if text[:cursor] != STORY[:cursor]:
        return ""
    line = STORY[cursor:].partition("\n")[0]
    return " ".join(line.split(" ")[: WORDS + 1]) if line.startswith(" ") else " ".join(line.split(" ")[:WORDS])


@pytest.fixture
def writing(device: ScriptedDevice, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Neovim]:
    device.suggest = story
    with neovim(tmp_path, device.endpoint, capsys) as editor:
        editor.call("nvim_command", "edit story.txt")
        yield editor


def test_what_is_typed_and_taken_is_in_the_buffer(writing: Neovim) -> None:
    """200 keys: letters, a word taken, all taken, letters taken back; each text is the story's beginning."""
    chance = random.Random(23)
    text, keys = "", []
    writing.keys("i")
    for _ in range(200):
        key, text = stroke(writing, chance, text)
        writing.keys(key)
        keys.append(key)
    until(lambda: "\n".join(writing.lines) == text)
    assert STORY.startswith(text)
    assert min(keys.count(key) for key in ("<C-Right>", "<Tab>", "<BS>", "<CR>")) > 0


def stroke(writing: Neovim, chance: random.Random, text: str) -> tuple[str, str]:
    """A key, and the text behind it. Somebody who takes a suggestion has seen it."""
    suggestion = story(text, len(text))
    kind = chance.random()
    if suggestion and kind < 0.1:
        writing.shows(suggestion)
        if kind < 0.07:
            word = suggestion[: len(suggestion) - len(suggestion.lstrip())] + suggestion.split()[0]
            return "<C-Right>", text + word
        return "<Tab>", text + suggestion
    if text and kind > 0.9:
        return "<BS>", text[:-1]
    letter = STORY[len(text)]
    return {"\n": "<CR>", " ": "<Space>"}.get(letter, letter), text + letter


def test_grey_text_is_drawn_at_the_cursor(writing: Neovim) -> None:
    """Before what stands behind it, and on the next row where the window ends; it is no part of the text."""
    writing.keys("i", *"Dear Ms Varga", " then<Left><Left><Left><Left><Left>")
    writing.shows(", the ferry to")
    assert writing.row(1) == "Dear Ms Varga, the ferry to then"
    assert writing.lines == ["Dear Ms Varga then"]
    writing.keys("<Tab>", "<End><C-U>", "Dear Ms Varga, the ferry to Brightholm costs 14 crowns 🙂 and leaves")
    writing.shows(" at nine from the")
    assert "and leaves at nine" in writing.row(1)
    assert (writing.row(1) + writing.row(2)).replace(" ", "").endswith("leavesatninefromthe")


def test_esc_takes_nothing_and_tab_is_tab_where_nothing_is_suggested(writing: Neovim) -> None:
    """What was drawn is gone with the mode, and comes back with it."""
    writing.keys("i", *"Dear")
    writing.shows(" Ms Varga, the ferry")
    writing.keys("<Esc>")
    writing.shows("")
    writing.keys("A")
    writing.shows(" Ms Varga, the ferry")
    writing.keys("x", "<Tab>", "<C-Right>", "y")
    until(lambda: writing.lines == ["Dearx\ty"])
    assert writing.grey == ""


def test_nothing_older_than_the_text_is_shown(writing: Neovim, device: ScriptedDevice) -> None:
    """While the suggestion for a text is not there nothing is drawn, and Tab takes nothing."""
    writing.keys("i", *"Dear")
    writing.shows(" Ms Varga, the ferry")
    device.hold()
    writing.keys(" ")
    writing.shows("")
    writing.keys("M", "<Tab>", "<BS>")
    until(lambda: writing.lines == ["Dear M"])
    assert writing.grey == ""
    device.release()
    writing.shows("s Varga, the ferry")
    writing.keys("<Tab>")
    until(lambda: writing.lines == ["Dear Ms Varga, the ferry"])
