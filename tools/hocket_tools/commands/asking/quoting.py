"""`hocket ask --quote`: the passages that an answer comes from, word for word, as far as this side has them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hocket_bus.messages import Done, Origin, Passage

LEAST = 0.0005  # of a share, as sources show it: what is less is 0.0 %


def print_quotes(done: Done, endpoint: str, keys: Path | None) -> None:
    """Print each passage with its place; a passage whose text is not here is printed by its document's name."""
    from hocket_tools import console

    out = console.out()
    for origin, text in _quoted(done, endpoint, keys):
        name = console.for_people(console.one_line(origin.document), out)
        if text:
            out.print(f"\n{console.printable(text)}", markup=False)
            out.print(f"— {name}, {console.place_of(origin)}", style="dim", markup=False)
        else:
            out.print(f"\n— {origin.side}: {name}, whose text is not here", style="dim", markup=False)


def records(done: Done, endpoint: str, keys: Path | None) -> list[dict[str, Any]]:
    """Return the quoted passages as records for programs: side, document, place and text."""
    return [
        {"side": origin.side, "document": origin.document, "place": origin.place, "text": text}
        for origin, text in _quoted(done, endpoint, keys)
    ]


def _quoted(done: Done, endpoint: str, keys: Path | None) -> list[tuple[Origin, str]]:
    """Return the sources with a share that name a document, each with its text; an empty one where it is elsewhere."""
    named = [origin for origin in done.sources if origin.document and origin.share >= LEAST]
    own = [origin for origin in named if origin.side == "device" and not origin.device]
    texts = {(each.document, each.ordinal): each.text for each in _passages(own, endpoint, keys)}
    return [(origin, texts.get((origin.document, origin.ordinal), "") if origin in own else "") for origin in named]


def _passages(origins: list[Origin], endpoint: str, keys: Path | None) -> list[Passage]:
    from hocket_bus import messages as m
    from hocket_tools.caller import Caller

    if not origins:
        return []
    places = [m.Place(document=origin.document, ordinal=origin.ordinal) for origin in origins]
    with Caller(endpoint, keys=keys, role="retrieval") as caller:
        return caller.ask(m.Quote(request=os.urandom(16), places=places), m.Passages).passages
