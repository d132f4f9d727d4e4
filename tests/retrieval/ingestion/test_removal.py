"""Laws of what is left on the disk: nothing of a removed text, and nothing that others may read."""

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hocket_bus.errors import BadConfiguration
from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import StoreError
from hocket_retrieval.ingestion import ingest
from hocket_retrieval.ingestion.job import Job
from hocket_retrieval.ingestion.skipped import SkippedFiles
from hocket_retrieval.ingestion.waiting import Queued, WaitingFiles
from hocket_retrieval.ingestion.walk import Walk
from toys import ToyEmbedder

SECRET = "Quixomel Zbrandovar"


def on_disk(folder: Path) -> bool:
    """Whether any file there holds one of the secret's words, as it is written or as it is indexed."""
    held = b"".join(path.read_bytes() for path in folder.iterdir()).lower()
    return any(word[:6].lower().encode() in held for word in SECRET.split())


@pytest.mark.parametrize("how", ["removed", "replaced", "removed during a job"])
def test_removed_text_is_gone_from_every_byte(tmp_path, how):
    """From the text, the passages, the index of words and the log beside the file, while the daemon runs on."""
    folder = tmp_path / "files"
    folder.mkdir()
    file = folder / "a.txt"
    words = random.Random(1)
    for number in range(30):
        said = " ".join(words.choices(["old", "mill", "river", "bridge", "tower", "street"], k=200))
        (folder / f"{number}.txt").write_text(said)
    file.write_text(f"The name is {SECRET}. " * 40)
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([folder])
        collection._store.purge()  # an index that is merged keeps a word until it is merged again
        assert on_disk(tmp_path / "state")
        if how == "removed":
            collection.remove([str(file)])
        elif how == "replaced":
            file.write_text("The name is not told.")
            collection.ingest([file])
        else:
            (folder / "later.txt").write_text("Another mill.")
            collection.ingest([folder], lambda _: collection.remove([str(file)]) if file.exists() else None)
            file.unlink()
            collection.remove([str(file)])
        assert not on_disk(tmp_path / "state")


def test_state_is_its_owner_s_alone(tmp_path):
    """Whatever the mask, and whatever an earlier hocket left; another user's folder is refused."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "documents.sqlite").touch()
    for path, mode in ((state, 0o755), (state / "documents.sqlite", 0o644)):
        path.chmod(mode)
    mask = os.umask(0)
    try:
        with Collection(state, ToyEmbedder()) as collection:
            collection.add([("a", "", "The old mill.")])
            modes = {path.stat().st_mode & 0o777 for path in state.iterdir()}
            assert len(list(state.iterdir())) == 15
    finally:
        os.umask(mask)
    assert (state.stat().st_mode & 0o777, modes) == (0o700, {0o600})
    if os.geteuid() == 0:
        os.chown(state, 12345, 12345)
        with pytest.raises(BadConfiguration, match="belongs to another user"):
            Collection(state, ToyEmbedder())


def test_a_damaged_page_is_one_line(tmp_path):
    """Wherever it is met: in a search, in an ingestion, at a start."""
    texts = [(f"{n}", "", f"The mill number {n} burned. " * 60) for n in range(40)]
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.add(texts)
    file = tmp_path / "state" / "documents.sqlite"
    data = bytearray(file.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
    file.write_bytes(data)
    (tmp_path / "a.txt").write_text("Another mill.")
    uses = [
        lambda collection: collection.search("mill number 3", 3),
        lambda collection: collection.documents(),
        lambda collection: collection.ingest([tmp_path / "a.txt"]),
        lambda collection: collection.remove(["3"]),
    ]
    line = r"documents\.sqlite: .*(malformed|not a database).*ingest the documents"
    for use in uses:
        with pytest.raises(StoreError, match=line), Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as opened:
            use(opened)


def test_what_is_accepted_is_on_the_disk_and_so_is_what_is_done(tmp_path, toy):
    """Before the first progress is told, and before the end of a job, the log is written through to the disk."""
    (tmp_path / "a.txt").write_text("The old mill.")
    said, told = [], []

    def note(*_):
        told.append([statement for statement in said if "FULL" in statement or "DELETE FROM queue" in statement][-2:])

    with Collection(tmp_path / "state", toy) as collection:
        for file in (collection._store._file, collection._waiting._file):
            file._writer.set_trace_callback(said.append)
        collection.accept([tmp_path / "a.txt"], Job(note, note))
        collection.work(Job())
    assert told[0] == ["PRAGMA synchronous = FULL"]
    assert told[-1] == ["PRAGMA synchronous = FULL", f"DELETE FROM queue WHERE name = '{tmp_path / 'a.txt'}'"]
    assert len(told) > 2
    with Collection(tmp_path / "state", toy) as collection:
        for file in (collection._store._file, collection._waiting._file, collection.graph._file):
            assert file._writer.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_a_deleted_file_goes_when_its_folder_is_read_again(tmp_path):
    """Its text, too; not what lies elsewhere, not what is there but may not be seen, and not by another file's name."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there, here / "closed"):
        folder.mkdir()
        (folder / "kept.txt").write_text("The old mill.")
        (folder / "gone.txt").write_text(f"The name is {SECRET}." if folder == here else "The new mill.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([here, there])
        (here / "gone.txt").unlink()
        (there / "gone.txt").unlink()
        (here / "closed").chmod(0)
        try:
            assert collection.ingest([here / "kept.txt"]).removed == 0
            assert collection.ingest([here]).removed == 1
        finally:
            (here / "closed").chmod(0o700)
        left = {document.name for document in collection.documents()}
        assert left == {str(here / "kept.txt"), *(str(at) for at in (there / "kept.txt", there / "gone.txt"))} | {
            str(here / "closed" / name) for name in ("kept.txt", "gone.txt")
        }
        assert not on_disk(tmp_path / "state")


def test_an_emptied_file_goes_and_empty_and_linked_ones_are_noted(tmp_path):
    """In a folder they are no failures; an empty file that is named is one."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "mill.txt").write_text("The old mill.")
    (folder / "emptied.txt").write_text(f"The name is {SECRET}.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([folder])
        (folder / "emptied.txt").write_text("")
        (folder / "again").symlink_to(tmp_path)
        report = collection.ingest([folder])
        assert (report.errors, report.removed, report.unchanged) == ([], 1, 1)
        assert report.notices == [
            "1 link(s) to folders not followed (again)",
            "1 empty file(s) skipped (emptied.txt)",
        ]
        assert not on_disk(tmp_path / "state")
        ((_, line),) = collection.ingest([folder / "emptied.txt"]).errors
        assert "emptied.txt: holds no text" in line


def test_a_folder_that_is_empty_forgets_nothing(tmp_path):
    """Its disk may not be mounted; what is there again is unchanged."""
    folder, away = tmp_path / "notes", tmp_path / "away"
    folder.mkdir()
    (folder / "mill.txt").write_text("The old mill.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([folder])
        folder.rename(away)
        folder.mkdir()
        assert collection.ingest([folder]).removed == 0
        assert [document.name for document in collection.documents()] == [str(folder / "mill.txt")]
        folder.rmdir()
        away.rename(folder)
        assert collection.ingest([folder]).unchanged == 1


@pytest.mark.parametrize(
    "how", ["moved", "moved with its folder", "renamed", "moved, and read by its name", "the last one"]
)
def test_a_file_that_was_moved_is_known_by_its_new_name_alone(tmp_path, how):
    """As soon as it was read there, though its old folder was not. Folders were tested that are read again."""
    old, new = tmp_path / "inbox" / "note.txt", tmp_path / "archive" / "note.txt"
    for folder in (old.parent, new.parent):
        folder.mkdir()
    old.write_text(f"The name is {SECRET}. " * 90)
    (new.parent / "kept.txt").write_text("The old mill.")
    if how != "the last one":
        (old.parent / "other.txt").write_text("The new mill.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([old.parent, new.parent])
        if how == "moved with its folder":
            new = new.parent / "inbox" / "note.txt"
            old.parent.rename(new.parent)
        else:
            new = old.with_name("letter.txt") if how == "renamed" else new
            old.rename(new)
        report = collection.ingest([new if how in ("renamed", "moved, and read by its name") else tmp_path / "archive"])
        assert report.removed == 1 + (how == "moved with its folder")
        names = {document.name for document in collection.documents()}
        assert str(old) not in names
        assert str(new) in names
        assert {passage.document for passage in collection.search("name", 3).passages} <= names


def test_a_file_that_was_changed_or_is_still_there_is_no_moved_one(tmp_path):
    """A copy moves nothing, and of a text that is read nowhere else nothing is forgotten."""
    first, gone, new = (tmp_path / name for name in ("first.txt", "gone.txt", "new.txt"))
    first.write_text("The old mill.")
    gone.write_text("The new mill.")
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8)) as collection:
        collection.ingest([first, gone])
        collection.add([("no file", "", "The third mill.")])
        gone.unlink()
        for said in ("The old mill.", "The third mill.", "Another mill."):
            new.write_text(said)
            assert collection.ingest([new]).removed == 0
        assert len(collection.documents()) == 4


def test_of_two_copies_the_one_is_found_that_is_there(tmp_path):
    """Whichever was read first; equal passages are told once."""
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for at, kept in enumerate(files):
        for file in files:
            file.write_text(f"The mill has {at} wheels.")
        with Collection(tmp_path / f"state {at}", ToyEmbedder(dimension=8)) as collection:
            collection.ingest(files)
            files[1 - at].unlink()
            assert [each.document for each in collection.search("wheels", 3).passages] == [str(kept)]


def two_files(folder: Path) -> Path:
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"The mill of {name}.")
    return folder


def names_in(collection: Collection) -> list[str]:
    return [Path(document.name).name for document in collection.documents()]


def test_a_folder_is_read_without_files_that_were_removed_by_name(tmp_path):
    """Skip it after a restart and a change of the file, too; a notice and the list of skipped files name it."""
    folder = tmp_path / "files"
    (folder / "below").mkdir(parents=True)
    for name in ("a.txt", "below/b.txt", "below/c.txt"):
        (folder / name).write_text(f"The mill of {name}.")
    away = folder / "below" / "b.txt"
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
        collection.remove([str(away)])
    away.write_text("Another mill.")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        for again in (folder, away.parent):
            report = collection.ingest([again])
            assert names_in(collection) == ["a.txt", "c.txt"]
            assert "1 file(s) that you have removed skipped (b.txt): name one to read it" in report.notices
            assert "name the file itself" in collection.skipped.reason(str(away))


def test_a_file_stays_away_that_is_removed_while_its_folder_is_walked(tmp_path, monkeypatch):
    folder = two_files(tmp_path / "files")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])

        def walk_and_remove(*given: object) -> Walk:
            walk = Walk(*given)
            collection.remove([str(folder / "b.txt")])
            return walk

        monkeypatch.setattr(ingest, "Walk", walk_and_remove)
        collection.ingest([folder])
        assert names_in(collection) == ["a.txt"]


def test_a_removed_file_that_is_still_queued_is_not_read(tmp_path):
    """Forget it at the next start: a power cut may have come between the note and the queue."""
    folder = two_files(tmp_path / "files")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
        collection.remove([str(folder / "b.txt")])
    with closing(WaitingFiles(tmp_path / "state" / "queue.sqlite")) as waiting:
        waiting.enqueue([Queued(str(folder / "b.txt"), str(folder))])
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder / "a.txt"])
        assert names_in(collection) == ["a.txt"]


@pytest.mark.parametrize("how", ["the file is named", "its folder is removed"])
def test_a_removed_file_is_read_again(tmp_path, how):
    folder = two_files(tmp_path / "files")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
        collection.remove([str(folder / "b.txt")])
        if how == "the file is named":
            collection.ingest([folder / "b.txt"])
        else:
            collection.remove([str(folder)])
        assert collection.ingest([folder]).notices == []
        assert names_in(collection) == ["a.txt", "b.txt"]


def test_a_removal_that_finds_nothing_changes_nothing(tmp_path):
    folder = two_files(tmp_path / "files")
    (folder / "a.txt").unlink()
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
        collection.remove([str(folder / "b.txt")])
        assert collection.remove([str(folder)]).missing == [str(folder)]
        collection.ingest([folder])
        assert names_in(collection) == []


def test_a_file_that_was_gone_and_is_back_is_read(tmp_path):
    """Read it, as nobody removed it: its document went with the file."""
    folder = two_files(tmp_path / "files")
    with Collection(tmp_path / "state", ToyEmbedder()) as collection:
        collection.ingest([folder])
        (folder / "b.txt").unlink()
        collection.ingest([folder])
        assert names_in(collection) == ["a.txt"]
        (folder / "b.txt").write_text("The mill is back.")
        collection.ingest([folder])
        assert names_in(collection) == ["a.txt", "b.txt"]


def test_a_file_of_the_version_before_keeps_its_reasons(tmp_path):
    """Take over a file that knows no removed ones."""
    path = tmp_path / "skipped.sqlite"
    with closing(sqlite3.connect(path)) as before:
        before.executescript(
            "CREATE TABLE skipped (name TEXT PRIMARY KEY, reason TEXT NOT NULL, in_part INTEGER NOT NULL);"
            "INSERT INTO skipped VALUES ('/a.txt', 'is empty', 0); PRAGMA user_version = 1;"
        )
    with closing(SkippedFiles(path)) as files:
        assert (files.reason("/a.txt"), files.removed()) == ("is empty", frozenset())
        files.remove(["/b.txt"])
    with closing(SkippedFiles(path)) as files:
        assert files.removed() == {"/b.txt"}
