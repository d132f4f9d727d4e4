"""The page's documents: sent by the button or dropped, with how far each is, and removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import browser as browsers
import pytest
from browser import ENTER, Browser
from paging import READY, opened
from shelf import NOTE, Shelf, shelf, there
from test_page_measured import violations

from hocket_gateway.access import people
from waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not browsers.IS_THERE, reason=browsers.WHY)]
__all__ = ["shelf", "there"]  # fixtures
SENT = "document.querySelectorAll('.sent li').length === {} && !document.querySelector('.sent progress')"
DROP = """
const data = new DataTransfer();
data.items.add(new File([arguments[1]], arguments[0]));
document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
"""


@pytest.fixture
def page(shelf: Shelf, window: Browser) -> Iterator[Browser]:
    opened(window, shelf.url)
    yield window
    window.run("sessionStorage.clear()")


def listed(page: Browser) -> None:
    page.click("[data-does=documents]")
    page.until("document.querySelector('.documents > *')")


def test_files_are_added_by_the_button(shelf: Shelf, page: Browser, tmp_path: Path) -> None:
    """One behind the other; each has a line with what became of it, and the list has them."""
    files = [tmp_path / name for name in ("tank.md", "tulips und mehr.txt")]
    for file in files:
        file.write_bytes(NOTE + file.name.encode())
    listed(page)
    page.type("#files", "\n".join(map(str, files)))
    page.until(SENT.format(2))
    assert page.texts(".sent li") == [f"{file.name} added, 1 passage" for file in reversed(files)]
    assert [Path(name).name for name in shelf.names()] == [file.name for file in files]
    page.until("document.querySelectorAll('.documents li').length === 2")
    assert violations(page) == []
    page.click(".documents button")
    page.until("document.querySelector('dialog pre')?.textContent.includes('300 litres')")


def test_a_file_that_is_dropped_anywhere_is_added(shelf: Shelf, page: Browser) -> None:
    """The sheet opens for it; the page is not left."""
    page.run(DROP, "dropped.md", NOTE.decode())
    page.until(SENT.format(1))
    assert page.texts(".sent li") == ["dropped.md added, 1 passage"]
    page.run(DROP, "dropped.md", "Another one.")
    page.until(SENT.format(2))
    assert page.texts(".sent li")[0] == "dropped.md replaced, 1 passage"
    assert len(shelf.names()) == 1


def test_what_cannot_be_read_is_refused_in_its_line(shelf: Shelf, page: Browser) -> None:
    """The others are read."""
    page.run(DROP, "large.md", "x" * 200_000)
    page.until("document.querySelector('.sent .error')?.textContent.includes('bytes')")
    page.run(DROP, "small.md", NOTE.decode())
    page.until(SENT.format(2))
    assert [Path(name).name for name in shelf.names()] == ["small.md"]
    page.complaints()


def test_a_long_file_tells_how_far_it_is(page: Browser) -> None:
    """Between nothing and all, and never back."""
    page.run(
        "window.parts = []; const told = Object.getOwnPropertyDescriptor(HTMLProgressElement.prototype, 'value');"
        "Object.defineProperty(HTMLProgressElement.prototype, 'value', { ...told, set(part) {"
        "window.parts.push(part); told.set.call(this, part); } });"
    )
    page.run(DROP, "long.md", "\n\n".join(f"Paragraph {at} about tulips and tanks." for at in range(2_000)))
    page.until(SENT.format(1))
    parts = page.run("return window.parts")
    assert parts == sorted(parts)
    assert 0 <= parts[0] < parts[-1] <= 1


def test_a_document_is_removed_by_two_clicks(shelf: Shelf, page: Browser) -> None:
    """The first asks; whoever goes elsewhere has not removed it."""
    shelf.put("tank.md")
    listed(page)
    page.click(".documents .remove")
    assert page.texts(".documents .remove") == ["Really?"]
    page.run("document.activeElement.blur()")
    assert page.texts(".documents .remove") == ["Remove"]
    assert len(shelf.names()) == 1
    page.click(".documents .remove")
    page.click(".documents .remove")
    page.until(SENT.format(1))
    assert page.texts(".sent li") == ["Allotment removed"]
    assert shelf.names() == []


def test_a_key_that_may_not_add_sees_no_way_to(shelf: Shelf, page: Browser) -> None:
    """And what it drops is refused with a line."""
    shelf.put("tank.md")
    key = people.invite(shelf.folder / "people.json", "anna")
    page.run("sessionStorage.setItem('hocket-key', arguments[0])", key)
    page.open(shelf.url)
    page.until(READY)
    listed(page)
    assert page.run("return document.querySelector('.adding').hidden") is True
    assert page.texts(".documents .remove") == []
    page.run(DROP, "dropped.md", NOTE.decode())
    page.until("document.querySelector('.sent .error')?.textContent.includes('may not send files')")
    page.complaints()


def test_documents_are_found_by_name_and_kind(shelf: Shelf, page: Browser) -> None:
    """Below their folders; a folder with nothing in it is not there."""
    for name in ("garden/tank.md", "garden/seeds.txt", "boat/engine.txt"):
        shelf.put(name, NOTE + name.encode())
    listed(page)
    folders = [Path(name).name for name in page.texts(".documents summary")]
    assert [each.partition("\n")[0].split()[0] for each in folders] == ["boat/", "garden/"] or len(folders) == 2
    page.type("#named", "GARDEN")
    assert len(page.texts(".documents li")) == 2
    page.type("#kind", "txt")
    page.until("document.querySelectorAll('.documents li').length === 1")
    assert "seeds.txt" in page.texts(".documents li")[0]
    page.type("#named", " nothing")
    page.until("document.querySelector('.documents p')")
    assert page.texts(".documents") == ["No document has these words."]
    assert violations(page) == []


def test_a_folder_is_watched_and_let_go(shelf: Shelf, page: Browser, tmp_path: Path) -> None:
    """List its documents once they are read, and those of new files later; refuse what is no folder in one line."""
    (tmp_path / "first.md").write_bytes(NOTE)
    page.click("[data-does=documents]")
    page.until("document.querySelector('#folder')")
    page.type("#folder", f"{tmp_path}/none{ENTER}")
    page.until("document.querySelector('hocket-folders .error').textContent.includes('is not a folder')")
    page.run("document.querySelector('#folder').value = ''")
    page.type("#folder", f"{tmp_path}{ENTER}")
    page.until("document.querySelector('.folders li')")
    assert page.texts("hocket-folders .error") == [""]
    page.until("document.querySelector('.folders small')?.textContent === 'read'")
    page.until("document.querySelectorAll('.documents li').length === 1")  # without opening the list again
    assert shelf.names() == [f"{tmp_path}/first.md"]
    (tmp_path / "second.md").write_bytes(NOTE + b" And more.")
    until(lambda: f"{tmp_path}/second.md" in shelf.names())
    assert violations(page) == []
    page.click(".folders button")
    page.until("!document.querySelector('.folders li')")
    assert shelf.ask("GET", "/watched").json() == {"folders": []}
    page.complaints()


def test_what_was_passed_over_is_listed_with_the_reason(shelf: Shelf, page: Browser, tmp_path: Path) -> None:
    """Folded below the documents."""
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (tmp_path / "tank.md").write_bytes(NOTE)
    assert shelf.ask("PUT", f"/watched{tmp_path}").status_code == 200
    until(lambda: f"{tmp_path}/tank.md" in shelf.names())
    until(lambda: shelf.ask("GET", "/skipped").json()["skipped"] != [])
    assert shelf.ask("DELETE", f"/watched{tmp_path}").status_code == 200
    listed(page)
    page.until("!document.querySelector('.passed').hidden")
    page.click(".passed summary")
    why = shelf.ask("GET", "/skipped").json()["skipped"][0]["why"]
    assert page.texts(".passed li") == [f"broken.pdf\n{why}"]
