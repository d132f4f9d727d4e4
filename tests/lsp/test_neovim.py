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
    writing.reads("Dearx\ty")
    assert writing.grey == ""


def test_nothing_older_than_the_text_is_shown(writing: Neovim, device: ScriptedDevice) -> None:
    """While the suggestion for a text is not there nothing is drawn, and Tab takes nothing."""
    writing.keys("i", *"Dear")
    writing.shows(" Ms Varga, the ferry")
    device.hold()
    writing.keys(" ")
    writing.shows("")
    writing.keys("M", "<Tab>", "<BS>")
    writing.reads("Dear M")
    assert writing.grey == ""
    device.release()
    writing.shows("s Varga, the ferry")
    writing.keys("<Tab>")
    writing.reads("Dear Ms Varga, the ferry")


LUA = {  # what users have in their configuration, each writes "own"
    "text for all buffers": 'vim.keymap.set("i", KEY, "own")',
    "a function for all buffers": 'vim.keymap.set("i", KEY, function() return "own" end, { expr = true })',
    "a function that writes": 'vim.keymap.set("i", KEY, function() vim.api.nvim_put({ "own" }, "c", false, true) end)',
    "a mapping of a mapping": """vim.keymap.set("i", "<Plug>(own)", "own")
        vim.keymap.set("i", KEY, "<Plug>(own)", { remap = true })""",
    "a function for this buffer": """vim.keymap.set("i", KEY, function()
        return "ox<BS>wn"
    end, { expr = true, buffer = true, replace_keycodes = vim.fn.has("nvim-0.8") == 1 or nil })""",
    "an expression for this buffer": """vim.cmd([[inoremap <buffer> <expr> ]] .. KEY .. [[ 'o' .. "wn"]])""",
    "signs for this buffer": 'vim.cmd("inoremap <buffer> " .. KEY .. " o<lt><BS>w<Bar><BS>n")',
    "a mapping of a mapping for this buffer": """vim.keymap.set("i", "<Plug>(own)", "own")
        vim.keymap.set("i", KEY, "<Plug>(own)", { remap = true, buffer = true })""",
    "a script's own": """vim.fn.writefile({
        "inoremap <SID>own own", "inoremap <buffer> <script> " .. KEY .. " <SID>own"
    }, "own.vim")
        vim.cmd("source own.vim")""",
    "completion that may fall back": """vim.keymap.set("i", KEY, "own")
        local group = vim.api.nvim_create_augroup("own", {})
        vim.api.nvim_create_autocmd("InsertEnter", { group = group, callback = function()
            vim.keymap.set("i", KEY, function()
                vim.api.nvim_feedkeys("own", "in", false)
            end, { buffer = true })
        end })""",
}


def test_where_nothing_is_grey_a_key_is_what_its_user_mapped_it_to(device: ScriptedDevice, writing: Neovim) -> None:
    """Before a suggestion, behind one that was taken or not, and where a text changes faster than we are told."""
    device.suggest = lambda text, cursor: story(text, cursor) if cursor else ""  # it may come before a key
    for number, how in enumerate(LUA):
        key, taken = ("<Tab>", "Dear Ms Varga, the ferry") if number % 2 else ("<C-Right>", "Dear Ms")
        writing.lua(f"vim.cmd('edit! text{number}.txt'); KEY = '{key}'; {LUA[how]}")
        writing.keys("i", key)
        writing.reads("own")
        writing.keys("<Esc>ccDear")
        writing.shows(" Ms Varga, the ferry")
        writing.keys(key)
        writing.reads(taken)
        writing.keys("<Esc>ccxx", key)
        writing.reads("xxown")
        writing.keys("<Esc>ccDear")
        writing.shows(" Ms Varga, the ferry")
        writing.keys(f"xy{key}")
        writing.reads("Dearxyown")
        writing.keys("<Esc>o", key)
        writing.reads("Dearxyown", "own")
        writing.keys("<Esc>")
        writing.lua("pcall(vim.keymap.del, 'i', KEY); pcall(vim.api.nvim_del_augroup_by_name, 'own')")


def test_a_mapping_that_comes_while_something_is_grey_stays(writing: Neovim) -> None:
    """A plugin that is loaded late has the key from then on."""
    for number, where in enumerate(("", ", buffer = true")):
        writing.lua(f"vim.cmd('edit! late{number}.txt')")
        writing.keys("i", *"Dear")
        writing.shows(" Ms Varga, the ferry")
        writing.lua(f'vim.keymap.set("i", "<Tab>", "late", {{ desc = "late"{where} }})')
        writing.keys("<Esc>ccxx<Tab>")
        writing.reads("xxlate")
        assert writing.lua('return vim.fn.maparg("<C-Right>", "i")') == ""
        writing.keys("<Esc>")


def test_other_keys_and_modes_are_never_ours(writing: Neovim) -> None:
    """Also while something is grey: Shift-Tab, and Tab where text is selected."""
    writing.lua("""for _, key in ipairs({ "<S-Tab>", "<Tab>", "<C-Right>" }) do
        vim.keymap.set({ "n", "v", "s", "c" }, key, "own")
    end
    vim.keymap.set("i", "<S-Tab>", "own")""")
    before = mappings(writing)
    writing.keys("i", *"Dear")
    writing.shows(" Ms Varga, the ferry")
    assert mappings(writing) == before
    writing.keys("<S-Tab>")
    writing.reads("Dearown")


def mappings(writing: Neovim) -> list[object]:
    """Of every mode but insertion, and Shift-Tab there, too."""
    return list(
        writing.lua("""local found = {}
        for _, mode in ipairs({ "n", "x", "s", "o", "c", "t" }) do
            for _, key in ipairs({ "<S-Tab>", "<Tab>", "<C-Right>" }) do
                table.insert(found, vim.fn.maparg(key, mode))
            end
        end
        table.insert(found, vim.fn.maparg("<S-Tab>", "i"))
        return found""")
    )


def test_a_menu_has_its_keys(writing: Neovim) -> None:
    """While completion offers words nothing is grey, and Tab is its user's."""
    writing.lua(
        'vim.keymap.set("i", "<Tab>", function() return vim.fn.pumvisible() == 1 and "<C-N>" or "own" end, '
        '{ expr = true, replace_keycodes = vim.fn.has("nvim-0.8") == 1 or nil })'
    )
    writing.keys("i", *"Dear")
    writing.shows(" Ms Varga, the ferry")
    writing.lua('vim.schedule(function() vim.fn.complete(1, { "one", "two" }) end)')
    until(lambda: writing.lua("return vim.fn.pumvisible()") == 1)
    writing.shows("")
    writing.keys("<Tab>")
    writing.reads("two")
