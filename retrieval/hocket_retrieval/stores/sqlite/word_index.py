"""The index of words in the documents' SQLite file: an FTS5 table without any text, updated by those who write chunks.

To remove a chunk it has to be given the words that it got; so it is rebuilt where words are made by another recipe.
Knows no files and no models.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import structlog

from ...text.heads import Placed, searched
from ...text.lexical import DETECTED_CHARS, RECIPE, Indexed, indexed, language_of, words
from ..records import Ids

BATCH = 5_000  # chunks between two signs of progress
COLUMNS = "plain, forms"
# It cuts at spaces alone: what is beyond ASCII it takes for letters.
TOKENIZER = "ascii tokenchars ''!#$%&''''()*+,-./:;<=>?@[\\]^_`{|}~''"
SCHEMA = f"""
CREATE VIRTUAL TABLE words USING fts5 ({COLUMNS}, content = '', tokenize = '{TOKENIZER}');
"""
RANK = "bm25(words, 0.05, 1.0)"  # what is found by its stem and its form is hardly better than by its stem
log = structlog.get_logger(__name__)


def add(connection: sqlite3.Connection, rows: Iterable[tuple[int, Indexed]]) -> None:
    """Index chunks by their ids."""
    connection.executemany(
        f"INSERT INTO words (rowid, {COLUMNS}) VALUES (?, ?, ?)", ((id, *columns) for id, columns in rows)
    )


def remove(connection: sqlite3.Connection, document: str) -> Ids:
    """Remove the chunks of a document as they were indexed; return their ids."""
    rows = connection.execute(f"{_CHUNKS} WHERE d.name = ?", (document,)).fetchall()
    connection.executemany(
        f"INSERT INTO words (words, rowid, {COLUMNS}) VALUES ('delete', ?, ?, ?)",
        ((id, *columns) for id, columns in _indexed(rows)),
    )
    return np.array([id for id, *_ in rows], dtype=np.int64)


def renew(connection: sqlite3.Connection) -> None:
    """Index every chunk anew where words were made by another recipe; no vector is made again."""
    known = connection.execute("SELECT value FROM facts WHERE name = 'words'").fetchone()
    if known == (RECIPE,):
        return
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    for (id,) in connection.execute("SELECT id FROM documents").fetchall():
        text = connection.execute(
            "SELECT substr(text, 1, ?) FROM documents WHERE id = ?", (DETECTED_CHARS, id)
        ).fetchone()
        connection.execute("UPDATE documents SET language = ? WHERE id = ?", (language_of(*text), id))
    total = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    done, last = 0, 0
    while rows := _following(connection, last):
        add(connection, _indexed(rows))
        done, last = done + len(rows), rows[-1][0]
        log.info("indexing the words of what is stored", chunks=done, of=total)
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('words', ?)", (RECIPE,))


def term(word: str) -> str:
    """An expression for the texts that have a word of `telling_words`."""
    return f"plain : {_quoted(word)}"


def phrase(text: str, *, first: bool = False) -> str:
    """An expression for the texts that have the words of `text` in a row, or begin with them."""
    return f"plain : {'^ ' * first}{_quoted(' '.join(words(text)))}"


def _quoted(terms: str) -> str:
    return f'"{terms}"'


_Row: TypeAlias = tuple[int, str, str, str, str, str]
_CHUNKS = """SELECT c.id, d.language, d.name, d.title, c.place, c.text FROM chunks c
             JOIN documents d ON d.id = c.document"""


def _following(connection: sqlite3.Connection, last: int) -> Sequence[_Row]:
    return connection.execute(f"{_CHUNKS} WHERE c.id > ? ORDER BY c.id LIMIT ?", (last, BATCH)).fetchall()


def _indexed(rows: Iterable[_Row]) -> Iterator[tuple[int, Indexed]]:
    return ((id, indexed(searched(Placed(*placed)), language)) for id, language, *placed in rows)
