"""Folders of earlier versions are taken over: documents, vectors, the queue, and the graph where it can be."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.errors import StoreError
from hocket_retrieval.parsing.readers import READING
from hocket_retrieval.stores.records import digest

SCHEMA = (Path(__file__).parents[1] / "store_version_6.sql").read_text(encoding="utf-8")
CONTENTLESS = "CREATE VIRTUAL TABLE words USING fts5 (plain, forms, content = '');"
OF_CHUNKS = """CREATE VIRTUAL TABLE words USING fts5 (text, content = 'chunks', content_rowid = 'id');
    CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
        INSERT INTO words (rowid, text) VALUES (new.id, new.text); END;
    CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
        INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text); END;"""
NO_PLACES = "ALTER TABLE documents DROP COLUMN outline; ALTER TABLE chunks DROP COLUMN place;"
NO_LANGUAGE = "ALTER TABLE documents DROP COLUMN language;"
NO_ENGINES = "DROP TABLE stated; DROP TABLE fallen; DELETE FROM facts WHERE name = 'extractor';"
NO_GRAPH = """DROP TRIGGER chunk_to_read; DROP TRIGGER chunk_gone; DROP TABLE changed; DROP TABLE mentions;
    DROP TABLE pending; DROP TABLE gone; DROP TABLE spellings; DROP TABLE entities; DROP TABLE subgraphs;
    DELETE FROM facts WHERE name IN ('graph', 'relations', 'modularity');"""
NO_SIZES = "DROP TABLE queue; CREATE TABLE queue (name TEXT PRIMARY KEY);"
BACK_TO = {
    6: CONTENTLESS,
    5: CONTENTLESS + NO_PLACES,
    4: NO_PLACES + NO_LANGUAGE + OF_CHUNKS,
    3: NO_PLACES + NO_LANGUAGE + NO_ENGINES + OF_CHUNKS,
    2: NO_PLACES + NO_LANGUAGE + NO_ENGINES + NO_GRAPH + OF_CHUNKS,
    1: NO_PLACES + NO_LANGUAGE + NO_ENGINES + NO_GRAPH + OF_CHUNKS + NO_SIZES,
}
TEXT = "Ada Merrow painted the red bricks."


def written(folder, version, toy, file, *, is_current=False):
    """A folder of that version with a document, a subgraph of it, and a file that waits."""
    folder.mkdir()
    recipe = f"{toy.fingerprint} words:64" + f" reading:{READING}" * is_current
    with closing(sqlite3.connect(folder / "documents.sqlite")) as old, old:
        old.executescript(SCHEMA + BACK_TO[version])
        old.execute(
            "INSERT INTO vectors VALUES (1, ?, ?)", (digest(toy.fingerprint, TEXT), toy.documents([TEXT])[0].tobytes())
        )
        old.execute(
            "INSERT INTO documents (name, title, sha256, recipe, chunks, ingested_at, text)"
            " VALUES ('a', '', '', ?, 1, 0, ?)",
            (recipe, TEXT),
        )
        old.execute("INSERT INTO chunks (document, ordinal, vector, text) VALUES (1, 0, 1, ?)", (TEXT,))
        old.execute("INSERT INTO queue (name) VALUES (?)", (str(file),))
        if version >= 4:
            old.execute("DELETE FROM pending")
            old.execute("INSERT INTO subgraphs VALUES (41, 7, 'Ada Merrow')")
            old.execute("INSERT INTO entities VALUES (3, 41)")
            old.execute("INSERT INTO spellings VALUES (5, 'Ada Merrow', 3)")
            old.execute("INSERT INTO mentions VALUES (1, 5)")
            old.execute("DELETE FROM changed")
            old.execute("INSERT INTO facts VALUES ('number', 'theirs')")
        old.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", BACK_TO)
def test_a_folder_of_an_earlier_version_is_taken_over(tmp_path, toy, version):
    """What it holds is found, nothing is embedded again, what it had still to read is read; a second start is quiet."""
    file = tmp_path / "b.txt"
    file.write_text("The old mill.")
    written(tmp_path / "state", version, toy, file)
    for added in (1, 0):
        with Collection(tmp_path / "state", toy) as collection:
            assert collection.status().queued == added
            report = collection.resume()
            assert (report.added, report.embedded) == (added, added)
            assert [passage.text for passage in collection.search("brick", 1).passages] == [TEXT]
    with Collection(tmp_path / "state", toy) as collection:
        collection.remove(["a"])
    with Collection(tmp_path / "state", toy) as collection:
        assert collection.search("brick", 1).passages[0].document == str(file)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_the_graph_goes_on_where_it_was(tmp_path, toy, version):
    """Ids, versions and the number stay, so that nothing is told to the cloud twice; no chunk is read again."""
    file = tmp_path / "b.txt"
    file.write_text("The old mill.")
    written(tmp_path / "state", version, toy, file, is_current=True)
    with Collection(tmp_path / "state", toy) as collection:
        assert collection.number == "theirs"
        assert collection.graph.extraction().unread == 0
        assert [(each.id, each.version, each.summary) for each in collection.graph.page(0, 9)[1]] == [
            (41, 7, "Ada Merrow")
        ]
        assert collection.search("brick", 1).passages[0].subgraph == 41


def test_a_takeover_that_died_in_the_middle_is_begun_again(tmp_path, toy):
    """Until the documents' file is of today, what was copied of it counts for nothing."""
    file = tmp_path / "b.txt"
    file.write_text("The old mill.")
    written(tmp_path / "state", 6, toy, file, is_current=True)
    for name in ("queue.sqlite", "graph.sqlite"):
        (tmp_path / "state" / name).write_bytes(b"half a file")
    with Collection(tmp_path / "state", toy) as collection:
        assert collection.status().queued == 1
        assert collection.search("brick", 1).passages[0].subgraph == 41


def test_a_damaged_earlier_file_is_one_clear_line(tmp_path, toy):
    """It is left as it is."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "documents.sqlite").write_text("this is not a database, only a long enough line of text")
    with pytest.raises(StoreError, match="ingest the documents again"):
        Collection(tmp_path / "state", toy)
