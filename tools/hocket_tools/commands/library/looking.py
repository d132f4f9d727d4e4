"""Output of `hocket documents` beside its list: a document's text, and the files that were passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket_bus.messages import DocumentText, PassedOver
    from hocket_tools.caller import Caller


def show(caller: Caller, side: str, names: Sequence[str], *, json_object: bool) -> None:
    """Print the text of the document that has one of these names, each part under the name of its place."""
    from hocket_tools.console import print_json

    pages = list(_pages(caller, names))
    text = "".join(page.text for page in pages)
    outline = [(each.offset, each.place) for page in pages for each in page.outline]
    if json_object:
        places = [{"offset": offset, "place": place} for offset, place in outline]
        record = {"side": side, "name": pages[0].name, "title": pages[0].title, "places": places, "text": text}
        print_json(record)
    else:
        _print(pages[0], text, outline)


def show_skipped(caller: Caller, side: str, *, json_object: bool) -> None:
    """Print a line for each file that was passed over when files were last read."""
    from hocket_tools import console

    files = list(_skipped(caller))
    if json_object:
        records = [{"name": each.name, "reason": each.reason} for each in files]
        console.print_json({"side": side, "skipped": records})
        return
    out = console.out()
    for each in files:
        name = console.for_people(console.one_line(each.name), out)
        out.print(f"{name}: {console.one_line(each.reason)}", markup=False)
    if not files:
        out.print(f"{side}: nothing was skipped", markup=False)


def _pages(caller: Caller, names: Sequence[str]) -> Iterator[DocumentText]:
    from hocket_bus import messages as m
    from hocket_bus.errors import Unavailable

    offset, asked, version = 0, list(names), ""
    while True:
        page = caller.ask(m.ShowDocument(request=os.urandom(16), names=asked, offset=offset), m.DocumentText)
        if offset and page.version != version:
            raise Unavailable(f"{page.name} has changed meanwhile", "show it again")
        yield page
        offset, asked, version = offset + len(page.text), [page.name], page.version
        if offset >= page.total or not page.text:
            return


def _print(document: DocumentText, text: str, outline: Sequence[tuple[int, str]]) -> None:
    from rich.text import Text

    from hocket_tools import console

    out = console.out()
    name = console.for_people(console.one_line(document.name), out)
    out.print(Text(f"{console.one_line(document.title)} ({name})", style="bold"))
    for (start, place), (end, _) in pairwise([(0, ""), *outline, (len(text), "")]):
        if place:
            out.print(Text(f"\n[{console.one_line(place)}]", style="cyan"))
        if part := console.printable(text[start:end]).strip():
            out.print(Text(part))


def _skipped(caller: Caller) -> Iterator[PassedOver]:
    from hocket_bus import messages as m
    from hocket_tools.caller import paged

    def page_from(offset: int) -> tuple[Sequence[PassedOver], int]:
        page = caller.ask(m.ListSkipped(request=os.urandom(16), offset=offset), m.Skipped)
        return page.files, page.total

    return paged(page_from)
