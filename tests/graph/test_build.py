"""Laws of the graph as it follows the documents."""

import random
import re

import pytest

from hocket_retrieval.collection import Collection
from hocket_retrieval.config import GraphConfig
from toys import ToyEmbedder

PEOPLE = ("Ada Merrow", "Tomas Quill", "Ines Harker", "Bram Oakes", "Lena Voss", "Piet Maar")
THINGS = ("harbour crane", "tide table", "rye bread", "stone oven", "tulip bulb", "garden wall")


def written(count: int, seed: int = 1) -> list[tuple[str, str, str]]:
    """Documents, each of which tells of two people and two things of one of two worlds."""
    draw = random.Random(seed)
    documents = []
    for number in range(count):
        half = slice(0, 3) if number % 2 else slice(3, 6)
        one, other = draw.sample(PEOPLE[half], 2)
        thing, part = draw.sample(THINGS[half], 2)
        documents.append((f"{number:03}", "", f"Then {one} met {other} near the {thing} and the {part}."))
    return documents


@pytest.fixture
def collection(tmp_path):
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8), graph=GraphConfig(entities=8)) as opened:
        yield opened


def summaries(collection: Collection) -> dict[int, str]:
    return {each.id: each.summary for each in collection.graph.page(0, 200)[1]}


def test_documents_become_subgraphs_whose_summaries_name_what_is_in_them(collection):
    """Those who are named together are told of together."""
    collection.add(written(20))
    assert collection.graph.info().building
    collection.build()
    info, page = collection.graph.page(0, 200)
    assert (info.building, info.documents, info.entities) == (False, 20, 12)
    assert info.modularity > 0.4
    assert [sorted(name for name in PEOPLE if name in each.summary) for each in page] == [
        sorted(PEOPLE[3:]), sorted(PEOPLE[:3]),
    ]  # fmt: skip


def test_what_is_removed_is_named_nowhere(collection):
    """When remove returns, no table holds a name that no document holds."""
    collection.add([*written(20), ("secret", "", "Then Ada Merrow met Quixo Zbrand near the harbour crane.")])
    collection.build()
    assert any("Quixo Zbrand" in summary for summary in summaries(collection).values())
    collection.remove(["secret"])
    assert not any("Quixo" in summary for summary in summaries(collection).values())
    with collection.graph._file.reading() as connection:
        assert connection.execute("SELECT count(*) FROM spellings WHERE text LIKE '%Quixo%'").fetchone() == (0,)
    collection.remove([name for name, _, _ in written(20)])
    info = collection.graph.info()
    assert (info.entities, info.relations, info.subgraphs, info.documents) == (0, 0, 0, 0)


def test_ids_are_not_used_again_and_unchanged_summaries_keep_their_version(collection):
    """What comes after all was removed has new ids; a document that changes nothing changes no version."""
    collection.add(written(20))
    collection.build()
    before = collection.graph.page(0, 200)
    collection.add([("more", "", "It was so.")])
    collection.build()
    after = collection.graph.page(0, 200)
    assert [each[:3] for each in after[1]] == [each[:3] for each in before[1]]
    collection.remove([name for name, _, _ in [*written(20), ("more", "", "")]])
    collection.add(written(20))
    collection.build()
    assert min(summaries(collection)) > max(each.id for each in before[1])
    assert collection.graph.info().state > before[0].state


def test_a_passage_is_of_the_subgraph_of_its_entities(collection):
    """A passage that is found says in which subgraph most of its entities are."""
    collection.add(written(20))
    assert collection.search("the rye bread", 1).passages[0].subgraph == 0
    collection.build()
    for passage in collection.search("harbour crane", 4).passages:
        names = [name for name in PEOPLE if name in passage.text]
        assert all(name in summaries(collection)[passage.subgraph] for name in names)


def told(collection: Collection) -> list[tuple[str, int, int]]:
    return sorted((each.summary, each.entities, each.documents) for each in collection.graph.page(0, 200)[1])


def test_a_graph_that_was_interrupted_is_that_of_an_undisturbed_run(tmp_path, monkeypatch):
    """Closed behind every batch and opened again, it comes to the same subgraphs and figures."""
    monkeypatch.setattr("hocket_retrieval.graph.reading.Rules.at_once", 3)
    graph = GraphConfig(entities=8)
    with Collection(tmp_path / "one", ToyEmbedder(dimension=8), graph=graph) as whole:
        whole.add(written(20))
        whole.build()
        expected, figures = told(whole), whole.graph.info()[1:]
    with Collection(tmp_path / "other", ToyEmbedder(dimension=8), graph=graph) as broken:
        broken.add(written(20))
    steps = 0
    while True:
        with Collection(tmp_path / "other", ToyEmbedder(dimension=8), graph=graph) as broken:
            once = iter((False, True))
            broken.build(lambda once=once: next(once))
            steps += 1
            if not broken.graph.info().building:
                assert (told(broken), broken.graph.info()[1:]) == (expected, figures)
                break
    assert steps > 5


def test_no_five_words_of_a_document_leave_in_a_row(tmp_path):
    """Not even where alphabetical order makes a document's own list, over the border of two chunks, too."""
    listed = "Abel Arden, Berta Boll, Carl Crane, Dora Dunn, Emil Eck, Fay Flint, Gus Gray and Hal Hume"
    with Collection(tmp_path / "state", ToyEmbedder(dimension=8), chunk_words=8) as collection:
        collection.add([("list", "", f"There came {listed}."), ("more", "", f"Then {listed} left.")])
        collection.build()
        said = " ".join(summaries(collection).values())
        words = re.findall(r"\w+", said.lower())
        spoken = re.findall(r"\w+", f"there came {listed} then {listed} left".lower())
        grams = {tuple(spoken[at : at + 5]) for at in range(len(spoken) - 4)}
        assert "Abel Arden" in said
        assert not grams & {tuple(words[at : at + 5]) for at in range(len(words) - 4)}
