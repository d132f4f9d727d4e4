"""Laws of looking into a store: a text comes whole with its places, and what was passed over is remembered rightly."""

from __future__ import annotations

from pathlib import Path

import pytest
from office_files import mail

from hocket_bus import messages as m
from hocket_bus.wire import encode
from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import QueryError
from hocket_retrieval.ingestion import skipped
from hocket_retrieval.ingestion.skipped import SkippedFiles
from hocket_retrieval.service import stored

ID = bytes(16)


def pages(collection: Collection, name: str) -> list[m.DocumentText]:
    found: list[m.DocumentText] = []
    while not found or sum(len(page.text) for page in found) < found[0].total:
        offset = sum(len(page.text) for page in found)
        page = stored.answered(collection, m.ShowDocument(request=ID, names=[name], offset=offset))
        assert isinstance(page, m.DocumentText)
        assert page.text
        encode(page)
        found.append(page)
    return found


def passed_over(collection: Collection) -> dict[str, str]:
    found = stored.answered(collection, m.ListSkipped(request=ID))
    assert isinstance(found, m.Skipped)
    assert found.total == len(found.files)
    return {Path(each.name).name: each.reason for each in found.files}


@pytest.mark.parametrize("line", ["Short.", "x" * 900], ids=["many places", "much text"])
def test_a_text_comes_page_by_page_with_its_places(collection: Collection, tmp_path: Path, line: str) -> None:
    """However long it is and however many headings it has; each place once, at the heading that it names."""
    file = tmp_path / "a.md"
    file.write_text("\n".join(f"# Part {number}\n\n{line}" for number in range(1_200)))
    collection.ingest([file])
    found = pages(collection, str(file))
    assert len(found) > 1
    text = "".join(page.text for page in found)
    outline = [each for page in found for each in page.outline]
    assert [each.place for each in outline] == [f"§ Part {number}" for number in range(1_200)]
    assert all(text[each.offset :].startswith(each.place.removeprefix("§ ")) for each in outline)
    assert {page.version for page in found} == {found[0].version}


def test_a_document_is_meant_by_its_name_or_the_end_of_it(collection: Collection, tmp_path: Path) -> None:
    """An end that two have names none, and the first name that there is goes before an end."""
    for name in ("one/a.md", "two/a.md", "two/b.md", "b.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"This is {name}.")
    collection.ingest([tmp_path])

    def text(*names: str) -> str:
        found = stored.answered(collection, m.ShowDocument(request=ID, names=list(names)))
        assert isinstance(found, m.DocumentText)
        return found.text

    assert text("one/a.md") == "This is one/a.md."
    assert text("none", str(tmp_path / "b.md"), "one/a.md") == "This is b.md."
    with pytest.raises(QueryError, match=r"matches .*one/a\.md, .*two/a\.md") as caught:
        text("a.md")
    assert caught.value.remedy
    for name in (".md", "", "other.md", "ne/a.md"):
        with pytest.raises(QueryError, match="no document"):
            text(name)


def test_passages_come_by_where_they_stand(collection: Collection, files: Path) -> None:
    """In the order asked for, with their places; one that is gone is left out."""
    collection.ingest([files])
    (files / "bakery.md").write_text("# Bread\n\nRye on Tuesdays.")
    collection.ingest([files])
    places = [
        m.Place(document=str(files / name), ordinal=at)
        for name, at in (("garden.txt", 0), ("none", 0), ("bakery.md", 0), ("garden.txt", 9))
    ]
    found = stored.answered(collection, m.Quote(request=ID, places=places))
    assert isinstance(found, m.Passages)
    assert [Path(each.document).name for each in found.passages] == ["garden.txt", "bakery.md"]
    assert [each.place for each in found.passages] == ["", "§ Bread"]


def test_what_is_passed_over_is_remembered_until_it_is_read_or_gone(toy, tmp_path: Path) -> None:
    """Broken files, types that nobody reads, parts that nobody reads; also behind a restart, and not a line longer."""
    folder = tmp_path / "files"
    (folder / "node_modules").mkdir(parents=True)
    broken, photo, letter = folder / "broken.pdf", folder / "photo.xyz", folder / "letter.eml"
    broken.write_bytes(b"no pdf")
    photo.write_bytes(b"x")
    letter.write_bytes(mail("Keys", "See below.", {"b.zip": b"PK"}))
    with Collection(tmp_path / "state", toy) as collection:
        collection.ingest([folder])
        assert set(passed_over(collection)) == {"broken.pdf", "photo.xyz", "letter.eml", "node_modules"}
    with Collection(tmp_path / "state", toy) as collection:
        lines = passed_over(collection)
        assert str(folder) not in "".join(lines.values())
        assert "not a readable .pdf" in lines["broken.pdf"]
        assert "'.xyz'" in lines["photo.xyz"]
        assert "b.zip" in lines["letter.eml"]
        collection.ingest([letter])  # it is as it was
        assert "letter.eml" in passed_over(collection)
        broken.unlink()
        photo.unlink()
        collection.ingest([folder])
        assert set(passed_over(collection)) == {"letter.eml", "node_modules"}
        letter.write_bytes(mail("Keys", "See below.", {}))
        collection.ingest([folder])
        assert set(passed_over(collection)) == {"node_modules"}
        letter.write_bytes(b"")
        collection.ingest([folder])
        assert set(passed_over(collection)) == {"node_modules", "letter.eml"}
        collection.remove([str(folder)])
        assert passed_over(collection) == {}


def test_a_file_that_is_as_it_was_read_is_no_longer_broken(collection: Collection, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Said.")
    collection.ingest([file])
    file.write_bytes(b"\x00\x01")
    collection.ingest([file])
    assert set(passed_over(collection)) == {"a.txt"}
    file.write_text("Said.")
    assert collection.ingest([file]).unchanged == 1
    assert passed_over(collection) == {}


def test_no_more_is_remembered_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go; one that is passed over again is new."""
    monkeypatch.setattr(skipped, "MAX_ENTRIES", 5)
    files = SkippedFiles(tmp_path / "skipped.sqlite")
    files.put((f"/{number}", "why") for number in range(5))
    files.put([("/0", "again")])
    files.put([("/5", "why")])
    assert files.page(0, 9) == ([("/0", "again"), ("/2", "why"), ("/3", "why"), ("/4", "why"), ("/5", "why")], 5)
    files.forget(["/4"], spared=["/4"])
    files.forget(["/3"])
    assert files.page(1, 2) == ([("/2", "why"), ("/4", "why")], 4)
    files.close()
