"""Laws of searching in every store: within folders it finds what a scan of these would, and no fewer."""

from __future__ import annotations

import random

import numpy as np
import pytest
from store_kinds import SHARED, put, vector_of

from hocket_retrieval.text.lexical import telling_words, words

VOCABULARY = [
    "brick", "slate", "glass", "copper", "harbour", "bakery", "garden", "tulip", "river", "bridge", "market", "winter",
    "lantern", "station", "orchard", "library", "museum", "tower", "valley", "castle", "engine", "ladder", "mirror",
    "button", "契約書", "金利", "node.js", "C#", "1998", "Übergabe", "straße", "naïve",
]  # fmt: skip
FOLDERS = ["/a", "/a/", "/a/b", "/a/bc", "/a/b/deep", "/a/b/3.txt", "/a/b'c", "/z", "/no/such", "/"]


def filled(store, documents: int, chunks: int, seed: int) -> dict[int, tuple[str, str]]:
    """Random documents in folders whose names begin alike; (name, text) by the id of each chunk."""
    rng = random.Random(seed)
    found: dict[int, tuple[str, str]] = {}
    for number in range(documents):
        folder = rng.choice(["/a/b", "/a/bc", "/a/b/deep", "/a/b'c", "/z", "/a"])
        texts = [" ".join(rng.choices(VOCABULARY, k=rng.randint(3, 12))) for _ in range(rng.randint(1, chunks))]
        added = put(store, f"{folder}/{number}.txt", *texts).added
        found |= {id: (f"{folder}/{number}.txt", text) for id, text in zip(added.tolist(), texts, strict=True)}
    return found


CLOSE = 3e-4  # SQLite's index has vectors in half precision; it ranks by them, and scores nothing


def is_within(name: str, folders: tuple[str, ...]) -> bool:
    bare = [folder.rstrip("/") for folder in folders]
    return not folders or any(name == folder or name.startswith(folder + "/") for folder in bare)


def some_of(rng: random.Random) -> tuple[str, ...]:
    """None, one or several folders, which may lie in one another."""
    return tuple(rng.sample(FOLDERS, rng.choice([0, 1, 1, 2, 3])))


def check_meaning(moment, chunks, rng: random.Random) -> None:
    """Against cosines of what lies in the folder: the same scores in their order, each the chunk's own."""
    vector, folders, limit = vector_of(str(rng.random())), some_of(rng), rng.choice([1, 3, 20, 500])
    cosines = {id: float(vector_of(text) @ vector) for id, (name, text) in chunks.items() if is_within(name, folders)}
    found = moment.by_meaning(vector, limit, folders)
    assert list(found.values()) == pytest.approx(sorted(cosines.values(), reverse=True)[:limit], abs=CLOSE)
    assert {id: cosines[id] for id in found} == pytest.approx(found, abs=CLOSE)


def check_words(moment, chunks, rng: random.Random) -> None:
    """Against the ranking of all, cut to the folder; and all that have a word of the question are in that."""
    query = " ".join(rng.choices(VOCABULARY, k=rng.randint(1, 4)))
    folders, limit = some_of(rng), rng.choice([1, 3, 20, 500])
    everywhere = moment.by_words(query, 10_000)
    asked = {*telling_words(query)}
    assert set(everywhere) >= {id for id, (_, text) in chunks.items() if asked & {*words(text)}}
    scores = {id: score for id, score in everywhere.items() if is_within(chunks[id][0], folders)}
    found = moment.by_words(query, limit, folders)
    assert len(found) == min(limit, len(scores))
    assert set(found) <= set(scores)
    assert min(everywhere.values(), default=1.0) > 0
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert [scores[id] for id in found] == pytest.approx(sorted(scores.values(), reverse=True)[:limit], rel=1e-4)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_a_search_within_a_folder_is_a_scan_of_it(store, seed):
    """By meaning and by words; while rows wait for the indices, when they are in, and mixed."""
    rng = random.Random(seed)
    chunks = filled(store, 25, 8, seed)
    for step in range(3):
        with store.moment() as moment:
            for _ in range(12):
                check_meaning(moment, chunks, rng)
                check_words(moment, chunks, rng)
        store.save()
        removed = {*store.remove(sorted({name for name, _ in chunks.values()})[:3]).removed.tolist()}
        chunks = {id: chunk for id, chunk in chunks.items() if id not in removed}
        name, texts = f"/z/more {step}", [text for _, text in chunks.values()][:4]
        added = put(store, name, *texts).added.tolist()
        chunks |= {id: (name, text) for id, text in zip(added, texts, strict=True)}


@pytest.mark.parametrize("kind", SHARED, indirect=True)
def test_an_index_of_meaning_hides_nothing(kind, store, monkeypatch):
    """Where it may be used, nothing is missing and scores are the chunks' own; below the bound all is exact."""
    rng = random.Random(7)
    chunks: dict[int, tuple[str, str]] = {}
    for number in range(12):
        folder = "/many" if number else "/few"
        texts = [f"{folder} {number} text {rng.random()}" for _ in range(250)]
        added = put(store, f"{folder}/{number}", *texts).added.tolist()
        chunks |= {id: (f"{folder}/{number}", text) for id, text in zip(added, texts, strict=True)}
    module = {"lancedb": "lance.lance_table", "postgres": "postgres.postgres_moment"}[kind]
    monkeypatch.setattr(f"hocket_retrieval.stores.{module}.SCANNED", 500)
    store.save()
    matrix, ids = np.stack([vector_of(text) for _, text in chunks.values()]), list(chunks)
    with store.moment() as moment:
        for folders in ((), ("/many",), ("/few",), ("/few/0",), ("/many/3", "/few/1")) * 3:
            vector, limit = vector_of(f"{folders} {rng.random()}"), rng.choice([5, 100, 400])
            inside = [at for at, id in enumerate(ids) if is_within(chunks[id][0], folders)]
            cosines = {ids[at]: float(matrix[at] @ vector) for at in inside}
            best = sorted(cosines.values(), reverse=True)[:limit]
            found = moment.by_meaning(vector, limit, folders)
            assert len(found) == len(best)
            assert {id: cosines[id] for id in found} == pytest.approx(found, abs=1e-5)
            assert list(found.values()) == sorted(found.values(), reverse=True)
            if len(inside) <= 500:
                assert list(found.values()) == pytest.approx(best, abs=1e-5)
            else:
                assert sum(score >= best[-1] - 1e-5 for score in found.values()) >= 0.9 * len(best)


@pytest.mark.parametrize("kind", SHARED, indirect=True)
def test_what_is_few_among_many_is_found(kind, store, monkeypatch):
    """A folder of some chunks that are all far from the question, where the index may be used for it."""
    texts = [f"text {number}" for number in range(600)]
    put(store, "/many/1", *texts)
    remote = sorted(texts, key=lambda text: float(vector_of(text) @ vector_of("asked")))[:7]
    for number, text in enumerate(remote):
        put(store, f"/few/{number}", text)
    module = {"lancedb": "lance.lance_table", "postgres": "postgres.postgres_moment"}[kind]
    monkeypatch.setattr(f"hocket_retrieval.stores.{module}.SCANNED", 5)
    store.save()
    with store.moment() as moment:
        for limit in (3, 7, 50):
            assert len(moment.by_meaning(vector_of("asked"), limit, ("/few",))) == min(limit, 7)


def test_a_word_is_counted_in_chunks(store):
    """Up to the limit, whole words alone; the documents that have two are all there."""
    chunks = filled(store, 20, 6, 3)
    for text in ("契約書 and 金利", "a harbour bridge"):
        chunks |= dict.fromkeys(put(store, f"/t/{text}", text).added.tolist(), (f"/t/{text}", text))
    with store.moment() as moment:
        for word in ("brick", "harbour", "契約", "金利", "1998", "js", "nowhere", "ubergabe"):
            count = sum(word in words(text) for _, text in chunks.values())
            assert [moment.frequency(word, limit) for limit in (1_000, 3)] == [count, min(count, 3)], word
        for one, other in (("harbour", "bridge"), ("brick", "brick"), ("tulip", "nowhere")):
            both = {name for name, text in chunks.values() if f"{one} {other}" in " ".join(words(text))}
            assert {*moment.documents_with(one, other)} >= both
            assert "nowhere" not in (one, other) or not moment.documents_with(one, other)


def test_words_are_found_by_their_stems_and_the_rarest_first(store):
    """A stem, a name with signs, one character that begins or ends a pair; what has more of the question is ahead."""
    put(
        store,
        "/a",
        "The notice period is three months.",
        "Notices were served by the landlord.",
        "Rent is due monthly.",
    )
    put(store, "/b", "契約書を保管する", "written in node.js and C#", "The landlord keeps the deposit in C.")
    with store.moment() as moment:

        def found(query: str) -> list[str]:
            return [chunk.text.split()[0] for chunk in moment.chunks(moment.by_words(query, 9))]

        assert sorted(found("notice")) == ["Notices", "The"]
        assert found("landlord's notice")[0] == "Notices"
        assert found("書") == found("契") == found("する") == ["契約書を保管する"]
        assert found("node.js")[0] == "written"
        assert found("C#")[0] == "written"
        assert found("") == found("?!") == found("zebra") == []
        assert moment.by_words("notice", 0) == {}


def test_a_word_finds_a_compound_that_is_made_of_it(store):
    """In German, among other notes."""
    put(store, "/lease.md", "Die Kaltmiete für die Wohnung ist im Voraus fällig.")
    put(store, "/other.md", "Der Garten ist im Winter zu.")
    with store.moment() as moment:
        found = moment.by_words("Wie hoch ist die Miete?", 5)
        texts = [chunk.text for chunk in moment.chunks(list(found))]
    assert [text[:13] for text in texts] == ["Die Kaltmiete"]
