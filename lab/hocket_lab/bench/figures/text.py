"""WikiText-2 as windows to predict and as documents to retrieve; knows no language model."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hocket_lab.data_folder import require
from hocket_retrieval.stores.sqlite.word_index import COLUMNS, TOKENIZER
from hocket_retrieval.text.chunking import chunk
from hocket_retrieval.text.lexical import indexed, language_of, match_expression
from hocket_tools.train.wikitext import plain, wikitext

TRAIN, TEST = Path("wikitext2/wiki.train.tokens"), Path("wikitext2/wiki.test.raw")


class Library:
    """The training articles in chunks, searched by words (BM25)."""

    def __init__(self, data: Path, chunk_words: int, articles: int = 0) -> None:
        """Index the first `articles` articles; 0 means all. Raises BadRequest when the corpus is not there."""
        texts = [plain(document.text) for document in wikitext(_corpus(data, TRAIN))]
        self._words = sqlite3.connect(":memory:")
        table = f"CREATE VIRTUAL TABLE chunks USING fts5 (text UNINDEXED, {COLUMNS}, tokenize = '{TOKENIZER}')"
        self._words.execute(table)
        chunks = (part for text in texts[: articles or None] for part in chunk(text, chunk_words))
        rows = ((part, *indexed(part, language_of(part))) for part in chunks)
        self._words.executemany("INSERT INTO chunks VALUES (?, ?, ?)", rows)

    def search(self, query: str, number: int) -> list[str]:
        """Return at most `number` chunks, best first."""
        sql = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY rank, rowid LIMIT ?"
        expression = match_expression(query)
        return [text for (text,) in self._words.execute(sql, (expression, number))] if expression else []


def held_out_text(data: Path) -> str:
    """Return the test split's articles, one after the other. Raises BadRequest when it is not there."""
    return "\n\n".join(plain(document.text) for document in wikitext(_corpus(data, TEST)))


def _corpus(data: Path, name: Path) -> Path:
    require(data, name)
    return data / name
