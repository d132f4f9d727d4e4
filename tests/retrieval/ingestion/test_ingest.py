"""Laws of ingestion: nothing twice, nothing lost, nothing half."""

import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from hocket_bus.errors import Cancelled
from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import IndexBuilding
from hocket_retrieval.searching.relevance import Telling, placed
from hocket_retrieval.text.heads import above
from processes import guarded, with_helpers
from waiting import WAIT_S

HERE = Path(__file__).parents[1]


def names(collection):
    return [Path(document.name).stem for document in collection.documents()]


def first(collection, query):
    return collection.search(query, 1).passages[0]


def test_ingesting_again_does_nothing(collection, toy, files):
    """The same bytes under the same name are neither read apart nor embedded again."""
    assert collection.ingest([files]).added == 3
    embedded = list(toy.embedded)

    report = collection.ingest([files, files / "bakery.txt"])

    assert (report.added, report.replaced, report.unchanged, report.chunks) == (0, 0, 3, 0)
    assert toy.embedded == embedded


def test_a_changed_file_replaces_its_old_version(collection, toy, files):
    """After a change only the new text is found, and only new chunks are embedded."""
    collection.ingest([files])
    (files / "bakery.txt").write_text("The bakery moved to Mill Road and sells cakes.")
    toy.embedded.clear()

    report = collection.ingest([files])

    assert (report.added, report.replaced, report.unchanged) == (0, 1, 2)
    assert toy.embedded == ["The bakery moved to Mill Road and sells cakes."]
    assert "Mill Road" in first(collection, "bakery").text
    assert collection.status().documents == 3
    assert all("rye" not in passage.text for passage in collection.search("rye bread", 9).passages)


def test_bad_files_do_not_stop_the_others(collection, files):
    """A broken file, an unknown type and a missing path are reported one by one; the rest is ingested."""
    (files / "broken.pdf").write_bytes(b"no pdf")
    (files / "archive.zip").write_bytes(b"PK")
    (files / ".hidden.txt").write_text("secret")

    report = collection.ingest([files, files / "archive.zip", files / "none.txt"])

    assert names(collection) == ["bakery", "garden", "harbour"]
    assert sorted(Path(name).name for name, _ in report.errors) == ["archive.zip", "broken.pdf", "none.txt"]
    assert report.skipped == 1
    assert collection.status().queued == 0


def test_a_folder_that_may_not_be_listed_is_reported(collection, files, monkeypatch):
    """Its neighbours are read, and nothing that was read of it before is taken for deleted."""
    (files / "closed").mkdir()
    (files / "closed" / "letter.txt").write_text("Dear Anna.")
    assert collection.ingest([files]).added == 4
    listing = os.scandir

    def forbidden(folder):
        if str(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(folder))
        return listing(folder)

    monkeypatch.setattr(os, "scandir", forbidden)
    report = collection.ingest([files])

    assert [(Path(name).name, "permissions" in text) for name, text in report.errors] == [("closed", True)]
    assert "letter" in names(collection)


def test_a_name_that_cannot_be_kept_is_reported(collection, tmp_path):
    """A file name that is no Unicode is one error; its neighbours are ingested."""
    (tmp_path / "good.txt").write_text("Good.")
    (tmp_path / "bad\udcff.txt").write_text("Bad.")

    report = collection.ingest([tmp_path, Path("/" + "x" * 300), Path("/\0")])

    assert (report.added, len(report.errors)) == (1, 3)
    assert "rename" in report.errors[0][1]


def test_a_file_that_breaks_keeps_its_old_version(collection, files):
    """A document that was good once stays searchable when its file becomes unreadable."""
    collection.ingest([files])
    (files / "bakery.txt").write_bytes(b"\x00\x01")

    assert len(collection.ingest([files]).errors) == 1
    assert "rye" in first(collection, "rye bread").text


def test_progress_reaches_the_end(collection, files):
    """The first one comes when all is written down; every file is named; at the end all files and passages are done."""
    seen = []
    collection.ingest([files], seen.append)

    assert (seen[0].files_done, seen[0].files_total, seen[0].name) == (0, 3, "")
    assert {Path(progress.name).stem for progress in seen[1:]} == {"bakery", "garden", "harbour"}
    assert (seen[-1].files_done, seen[-1].chunks_done, seen[-1].chunks_total) == (3, 3, 3)
    assert all(before.files_done <= after.files_done for before, after in pairwise(seen))


def test_removing(collection, files):
    """Documents go by name or by folder; they are not found any more, and unknown names remove nothing."""
    collection.ingest([files])

    bakery, half = str(files / "bakery.txt"), str(files)[:-1]
    assert collection.remove([bakery]) == ([bakery], [])
    assert all("rye" not in passage.text for passage in collection.search("rye bread", 9).passages)
    assert collection.remove(["/nowhere", "", bakery, half]) == ([], ["/nowhere", "", bakery, half])
    assert len(collection.remove([f"{files}/"]).removed) == 2
    assert collection.search("harbour", 3).documents_total == 0


def test_a_killed_ingestion_goes_on_where_it_stopped(tmp_path, toys):
    """Killed between two batches, the next start embeds what is missing, no more, and comes to the same end."""
    files = tmp_path / "files"
    files.mkdir()
    for name in ("a", "b", "c"):
        text = " ".join(f"The {name} number {n} is a whole sentence." for n in range(20))
        (files / f"{name}.txt").write_text(text)
    command = [sys.executable, str(HERE / "ingest_slowly.py"), str(tmp_path / "state"), str(files)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": with_helpers()}
    with guarded(subprocess.Popen(command, **pipes)) as process:
        for line in process.stdout:
            if int(line) == 32:
                break
            process.stdin.write("\n")
            process.stdin.flush()
        process.kill()

    embedder = toys()
    with Collection(tmp_path / "state", embedder, chunk_words=8) as collection:
        status = collection.status()
        assert (status.documents + status.queued, status.chunks) == (3, 20 * status.documents)
        collection.resume()

        assert collection.status() == (type(collection.status()))(3, 60, 0, 0, by_words=False)
        assert len(embedder.embedded) == 28
        assert "b number 19" in first(collection, "b number 19").text


def test_a_stopped_ingestion_keeps_what_it_did(tmp_path, toys, files):
    """`stop` ends a job with Cancelled; what was queued is done by the next collection."""
    toy = toys()
    with Collection(tmp_path / "state", toy) as collection:
        collection.stop()
        with pytest.raises(Cancelled):
            collection.ingest([files])
    with Collection(tmp_path / "state", toy) as collection:
        assert collection.resume().added == 3


@pytest.mark.parametrize("when", ["waiting", "at hand", "made anew"])
def test_what_is_removed_during_a_job_does_not_come_back(tmp_path, toys, files, when):
    """Not the file, not its passages, not their vectors; the others are ingested."""
    bakery, garden = str(files / "bakery.txt"), str(files / "garden.txt")
    removed = garden if when == "waiting" else bakery
    with Collection(tmp_path / "state", toys()) as collection:
        if when == "made anew":
            collection.ingest([files])
    told = []

    def remove(progress):
        if progress.files_done == 0 and not told:
            told.append(collection.remove([removed]))

    with Collection(tmp_path / "state", toys("other")) as collection:
        collection.resume(remove) if when == "made anew" else collection.ingest([files], remove)
        assert told == [([removed], [])]
        assert names(collection) == sorted({"bakery", "garden", "harbour"} - {Path(removed).stem})
        assert collection.status().queued == 0
        assert len(collection._store._index) == 2
        assert collection._store._file._writer.execute("SELECT count(*) FROM vectors").fetchone() == (2,)


def test_an_embedder_of_another_width_may_be_interrupted(tmp_path, toys, files):
    """Vectors of both lie in the store then; the next start opens it, goes on, and has every document in its index."""
    with Collection(tmp_path / "state", toys()) as collection:
        collection.ingest([files])
    with Collection(tmp_path / "state", toys("wide", 96)) as collection, pytest.raises(Cancelled):
        collection.resume(lambda progress: collection.stop() if progress.files_done == 1 else None)
    with Collection(tmp_path / "state", toys("wide", 96)) as collection:
        assert collection.status().stale == 2
        collection.resume()
        assert len(collection._store._index) == 3
        assert "Fendwick" in first(collection, "Fendwick harbour").text


def test_searching_while_ingesting_sees_whole_documents(tmp_path, toys, files):
    """During a job searches answer, from the documents that are complete, and first wait for one with a clear error."""
    toy = toys()
    with Collection(tmp_path / "state", toy) as collection:
        toy.gate.clear()
        job = threading.Thread(target=collection.ingest, args=([files],))
        job.start()
        assert toy.entered.wait(WAIT_S)
        with pytest.raises(IndexBuilding, match="wait"):
            collection.search("harbour", 3)
        toy.gate.set()
        job.join(WAIT_S)
        toy.gate.clear()
        toy.entered.clear()
        (files / "harbour.txt").write_text("New words. " * 100)
        job = threading.Thread(target=collection.ingest, args=([files],))
        job.start()
        assert toy.entered.wait(WAIT_S)
        assert "Ada Merrow" in first(collection, "Fendwick harbour").text
        toy.gate.set()
        job.join(WAIT_S)
        assert "New words." in first(collection, "new words").text


def version(turn):
    """One of two documents, with a text of six chunks that no other turn has."""
    text = " ".join(f"Common words of piece {n} in version {turn}." for n in range(6))
    return f"document {turn % 2}", "", text


def test_many_searches_and_changes_at_once(tmp_path, toys):
    """Searches beside additions and removals never fail and never see a part of a document, or two versions of it."""
    seen = []
    looked, done = threading.Event(), threading.Event()

    def look(collection):
        while not done.is_set():
            by_document = {}
            for passage in collection.search("common words", 64).passages:
                by_document.setdefault(passage.document, []).append((passage.text.split()[-1], passage.ordinal))
            seen.extend(by_document.values())
            looked.set()

    with Collection(tmp_path / "state", toys(), chunk_words=8) as collection:
        readers = [threading.Thread(target=look, args=(collection,)) for _ in range(2)]
        collection.add([version(0)])
        for reader in readers:
            reader.start()
        assert looked.wait(WAIT_S)
        for turn in range(30):
            collection.add([version(turn)])
            if turn % 5 == 4:
                collection.remove([f"document {turn % 2}"])
        done.set()
        for reader in readers:
            reader.join(WAIT_S)
    assert seen
    for parts in seen:
        assert sorted(ordinal for _, ordinal in parts) == [0, 1, 2, 3, 4, 5]
        assert len({version for version, _ in parts}) == 1


@pytest.mark.parametrize("change", ["embedder", "longer vectors", "chunk_words"])
def test_another_embedder_or_chunk_length_makes_all_anew(tmp_path, toys, files, change):
    """Without the files. Until no vector is another embedder's, passages are found and scored by their words alone."""
    with Collection(tmp_path / "state", toys()) as collection:
        collection.ingest([files])
    for file in files.iterdir():
        file.unlink()
    toy = {"embedder": toys("other"), "longer vectors": toys("other", 128)}.get(change, toys())
    words = 8 if change == "chunk_words" else 64

    with Collection(tmp_path / "state", toy, chunk_words=words) as collection:
        assert collection.status().by_words is (change != "chunk_words")
        assert "harbour" in first(collection, "Fendwick harbour").text
        if change != "chunk_words":
            with collection.store.moment() as moment:
                chunk, telling = moment.chunk_at(str(files / "harbour.txt"), 0), Telling.of(moment, "harbour", "")
            of_words = placed([telling.probability(0.0, chunk.text, above(chunk))], 0.0)
            assert collection.score("harbour", [(chunk.document, 0)]) == [pytest.approx(of_words)]
            assert not collection.search("zzz", 3).passages
        assert collection.resume().replaced == 3
        assert not collection.status().by_words
        assert len(collection.score("harbour", [(str(files / "harbour.txt"), 0)])) == 1
        assert "harbour" in first(collection, "Fendwick harbour").text
        assert collection.status().chunks == (6 if words == 8 else 3)
