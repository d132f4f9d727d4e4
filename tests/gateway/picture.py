"""`make picture`: the page for the README, where a pair answers a question about the documents of the demo."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from browser import ENTER, Browser, browser
from PIL import Image
from serving import gateway

from hocket_gateway.settings import ServeSettings
from hocket_tools.commands.daemons.pair import start
from hocket_tools.commands.library.documents import read_in
from hocket_tools.pair.home import Home
from hocket_tools.pair.temporary import temporary_home

START_S = 300.0
SIZE = (1200, 420)
MAX_BYTES = 200_000
OVER = "document.querySelector('hocket-turn:last-child .left')"


@contextmanager
def answered(window: Browser) -> Iterator[Home]:
    """The page of a pair that has read the demo's documents, and its answer to a question of both sides."""
    samples = resources.files("hocket_tools") / "demo"
    with temporary_home() as home:
        model = next(state.facts["model"] for state in start(home, START_S) if state.name == "device")
        for side in ("device", "cloud"):
            with resources.as_file(samples / side) as folder:
                read_in(home.endpoint(f"{side}-retrieval"), [Path(folder)])
        by_model = json.loads((samples / "asked.json").read_text(encoding="utf-8"))
        asked = by_model.get(model, by_model["larger"])
        settings = ServeSettings(
            port=0, device=home.endpoint("device"), retrieval=home.endpoint("device-retrieval"), max_tokens=96
        )
        with gateway(settings) as port:
            window.open(f"http://127.0.0.1:{port}")
            window.until("document.querySelectorAll('#model option').length")
            window.type("#question", asked[-1]["question"] + ENTER)
            window.until(OVER)
            yield home


def optimised(png: bytes) -> bytes:
    """The same in 256 colours."""
    written = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


def main(path: Path) -> int:
    """Write the picture; 1 where it is too large for a page that is read over a telephone's net."""
    with browser() as window:
        window.resize(*SIZE)
        window.prefers("light")
        with answered(window):
            found = optimised(window.screenshot())
    path.write_bytes(found)
    print(f"{path}: {len(found):,} bytes")
    return int(len(found) > MAX_BYTES)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
