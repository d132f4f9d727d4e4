"""Neovim without a screen, set up as its users do, and told keys over its own protocol."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest

from hocket_tools.main import run
from waiting import until

GREY = """
local space = vim.api.nvim_get_namespaces().hocket
local marks = vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })
if #marks == 0 then return "" end
local details = marks[1][4]
local lines = { details.virt_text[1][1] }
for _, line in ipairs(details.virt_lines or {}) do table.insert(lines, line[1][1]) end
return table.concat(lines, " ")
"""
ROW = """
vim.cmd("redraw")
local letters = {}
for column = 1, vim.o.columns do table.insert(letters, vim.fn.screenstring(..., column)) end
return table.concat(letters)
"""


class Neovim:
    """One of its processes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._unpacker = msgpack.Unpacker(self._out, read_size=1, raw=False)
        self._numbers = itertools.count()

    def call(self, method: str, *arguments: Any) -> Any:
        number = next(self._numbers)
        self._in.write(msgpack.packb([0, number, method, arguments]))
        self._in.flush()
        for message in self._unpacker:
            if message[0] == 1 and message[1] == number:
                assert message[2] is None, message[2]
                return message[3]
        raise AssertionError("it has ended")

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.call("nvim_exec_lua", code, arguments)

    def keys(self, *keys: str) -> None:
        """Type them; they have been worked on when this returns."""
        for key in keys:
            self.call("nvim_input", key)

    @property
    def lines(self) -> list[str]:
        return list(self.call("nvim_buf_get_lines", 0, 0, -1, True))

    @property
    def grey(self) -> str:
        """What is drawn, its lines put together; empty where nothing is."""
        return str(self.lua(GREY))

    def reads(self, *lines: str) -> None:
        """Wait for these lines."""
        until(lambda: self.lines == [*lines], said=lambda: f"{self.lines}, {self.call('nvim_get_mode')}")

    def row(self, number: int) -> str:
        """A row of the screen."""
        return str(self.lua(ROW, number)).rstrip()

    def shows(self, grey: str) -> None:
        """Wait for it; it may be drawn on several lines."""
        until(lambda: self.grey.split() == grey.split())


@contextmanager
def neovim(folder: Path, endpoint: str, capsys: pytest.CaptureFixture[str]) -> Iterator[Neovim]:
    """Set up in a folder of its own by the line that users are told. Skips where there is none."""
    program = shutil.which("nvim")
    if program is None:
        pytest.skip("Neovim is not on this machine")
    plugin = folder / "nvim" / "plugin" / "hocket.lua"
    plugin.parent.mkdir(parents=True)
    capsys.readouterr()
    assert run(["lsp", "--lua"]) == 0
    plugin.write_text(capsys.readouterr().out)
    command = ", ".join(
        f'"{word}"' for word in [sys.executable, "-m", "hocket_tools.main", "lsp", "--endpoint", endpoint]
    )
    (folder / "nvim" / "init.lua").write_text(f"vim.g.hocket_command = {{ {command} }}\n")
    homes = {f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    process = subprocess.Popen(
        [program, "--headless", "--embed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=os.environ | homes,
    )
    with process:
        try:
            yield Neovim(process)
        finally:
            process.kill()
