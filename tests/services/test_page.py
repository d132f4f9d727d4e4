"""Every block of docs/systemd.md is run by the tests of the booted services, or is named here with the reason."""

from __future__ import annotations

import re
from pathlib import Path

from page import PAGE, blocks

FOLDER = Path(__file__).parent
NOT_RUN = {
    "LoadCredential=hocket-server-key:/etc/hocket/server.key": "there is no server of text on the two machines",
    "LoadCredential=hocket-server-key:/etc/hocket/engine.key": "nor an engine",
    "IPAddressAllow=192.0.2.0/24": "nor a third machine that asks the gateway",
    "LimitRTPRIO=1": "the machines that run the tests may not give real time away",
    "mv device-documents": "no machine has that layout",
}


def test_every_block_of_the_page_is_run_or_has_a_reason() -> None:
    """A test names a block by its heading and a part of it; each call finds one."""
    calls = [
        call
        for name in ("followed", "test_booted", "page")
        for call in re.findall(
            r"block\(\s*['\"]([^'\"]+)['\"], ['\"]([^'\"]+)['\"]", (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        )
    ]
    page = blocks(PAGE.read_text(encoding="utf-8"))
    assert len(page) > 10
    for block in page:
        used = any(heading == block.heading and part.replace("\\n", "\n") in block.lines for heading, part in calls)
        excused = any(line in block.lines for line in NOT_RUN)
        assert used != excused, block


def test_blocks_in_lists_lose_their_indent() -> None:
    text = "# Page\n\n## One\n\n```\na\n```\n\n1. step\n\n   ```\n   b\n     c\n   ```\n"
    assert [each.lines for each in blocks(text)] == ["a\n", "b\n  c\n"]
    assert {each.heading for each in blocks(text)} == {"One"}
