"""Laws of what `hocket bench composition` makes up, counts and compares; no daemon runs here."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from hocket_bus.errors import BadRequest
from hocket_bus.messages import Reference, Suggestion
from hocket_lab.bench.composition import disambiguation, recall, utility
from hocket_lab.bench.composition.confusable import OF_A_KIND, SETS, Set, make_confusable
from hocket_lab.bench.composition.disambiguation import Judged
from hocket_lab.bench.composition.facts import is_right, make_facts
from hocket_lab.bench.composition.kinds import KINDS
from hocket_lab.bench.composition.likeness import Likeness
from hocket_lab.bench.composition.meteor import aligned, meteor, stems
from hocket_lab.bench.composition.metrics import Metric, bleu4, gleu, rouge1, rouge_l, words_of
from hocket_lab.bench.composition.pages import FILES, FILES_OF, MIN_LEAD, Kind, Page, corpus, pages
from hocket_lab.bench.composition.utility import (
    CLAIMED,
    FEWEST,
    FT,
    FT_WITHOUT,
    MEMORY,
    NEARNESS,
    SYSTEMS,
    VANILLA,
    WRONG,
)
from hocket_lab.reporting.report import Report, Row

LABEL, WRITTEN = words_of("The cat sat on the mat"), words_of("the cat is on the mat")


def telling(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{5,}", text))


def test_no_value_and_no_subject_is_there_twice() -> None:
    """Nor does any stand in the document of another fact."""
    facts = make_facts(3 * len(KINDS), seed=5)
    names = [name for fact in facts for name in (fact.subject, fact.value)]
    assert len(set(names)) == len(names)
    for fact in facts:
        for name in (fact.subject, fact.value):
            assert [each.name for each in facts if name in each.document] == [fact.name]


def test_the_two_wordings_share_the_subject_alone() -> None:
    """In its own words the beginning stands in the document, right before the value; in others it does not."""
    for fact in make_facts(len(KINDS), seed=0):
        own, other = fact.beginning(own=True), fact.beginning(own=False)
        assert own + fact.value in fact.document
        assert other not in fact.document
        assert own.startswith(fact.subject + " ")
        assert other.startswith(fact.subject + " ")
        assert not telling(own.removeprefix(fact.subject)) & telling(other.removeprefix(fact.subject))


def test_the_seed_makes_the_facts() -> None:
    assert make_facts(40, seed=1) == make_facts(40, seed=1)
    values = [{fact.value for fact in make_facts(40, seed)} for seed in (1, 2)]
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("suggestion", "right"),
    [
        ("Abel Renn.", True),
        (" Abel Renn and others", True),
        ("Abel Renn", True),
        ("Abel Renner.", False),
        ("abel renn.", False),
        ("Doctor Abel Renn.", False),
        ("Abel", False),
        ("", False),
    ],
)
def test_a_suggestion_is_right_that_begins_with_the_value(suggestion: str, right: bool) -> None:
    assert is_right(suggestion, "Abel Renn") is right


@pytest.mark.parametrize("which", SETS)
def test_confusable_facts_differ_in_subject_and_value(which: Set) -> None:
    """Each stands in its side's document once, beside four of its kind, and the seed makes them."""
    facts, documents = make_confusable(SETS[which], seed=3)
    assert make_confusable(SETS[which], seed=3) == (facts, documents)
    assert make_confusable(SETS[which], seed=4) != (facts, documents)
    assert [sum(fact.side == side for fact in facts) for side in ("cloud", "device")] == [20, 10]
    assert len({name for fact in facts for name in (fact.subject, fact.value)}) == 2 * len(facts)
    for fact in facts:
        document = documents[fact.side][fact.document]
        assert document.count(fact.subject) == document.count(fact.value) == 1
        assert sum(each.subject in document for each in facts) == OF_A_KIND
        assert fact.subject in fact.typed
        assert fact.value not in fact.typed


def test_the_two_sets_have_no_kind_in_common() -> None:
    kinds = [{(kind.line, kind.typed, kind.file) for kind in SETS[which]} for which in SETS]
    assert not kinds[0] & kinds[1]


@pytest.mark.parametrize(
    ("text", "named", "judged"),
    [
        ("VALUE crowns.", True, Judged(right=True, other=False, named=True)),
        ("VALUE crowns.", False, Judged(right=True, other=False, named=False)),
        ("OTHER crowns", True, Judged(right=False, other=True, named=False)),
        ("9VALUE", True, Judged(right=False, other=False, named=False)),
        ("", True, Judged(right=False, other=False, named=False)),
    ],
)
def test_what_is_shown_behind_a_fact_is_judged_by_whole_values(text: str, named: bool, judged: Judged) -> None:
    facts, _ = make_confusable(SETS["shown"], seed=0)
    fact, other = facts[0], facts[1]
    sources = [Reference(side="cloud", document=f"/somewhere/{fact.document}")] if named else []
    shown = Suggestion(
        request=bytes(16), version=0, text=text.replace("VALUE", fact.value).replace("OTHER", other.value), ms=1.0,
        passes=1, memory_age_s=1.0, sources=sources,
    )  # fmt: skip
    assert Judged.of(fact, shown, facts) == judged
    assert Judged.of(fact, None, facts) == Judged(right=False, other=False, named=False)


def test_confusable_facts_are_claimed_side_by_side() -> None:
    """And a value of another fact counts against all of them."""
    report = Report({})
    row: Row = {
        "cloud_facts": 20, "cloud_right": 15, "device_facts": 10, "device_right": 8, "alone_facts": 10,
        "alone_right": 9, "named": 32, "others": 2,
    }  # fmt: skip
    disambiguation.claim(report, row)
    assert [claim["holds"] for claim in report.claims] == [True, False, True, True, False]


def fact_rows(way: str, right: int, of: int, *, named: int = 0) -> list[Row]:
    return [
        {"document": str(at), "way": way, "found": True, "right": at < right, "named": at < named, "alone": False}
        for at in range(of)
    ]


def test_facts_are_claimed_way_by_way() -> None:
    """A source counts where the value is right; what was not typed cannot be told."""
    report = Report({})
    report.rows = [*fact_rows(recall.OWN, 8, 10, named=8), *fact_rows(recall.OTHER, 4, 10, named=2)]
    recall.claim(report)
    assert [claim["holds"] for claim in report.claims] == [True, False, None, False]
    assert report.claims[-1]["measured"] == pytest.approx(10 / 12)
    report.rows = fact_rows(recall.WITHOUT, 1, 10)
    recall.claim(report)
    assert [claim["holds"] for claim in report.claims] == [None, None, False, None]


def test_metrics_by_hand() -> None:
    """Five of six words are common, three of five pairs, one of four triples ("on the mat") and no four in a row."""
    assert words_of("It's 7:30!") == ["it", "'", "s", "7", ":", "30", "!"]
    assert gleu(LABEL, WRITTEN) == pytest.approx((5 + 3 + 1 + 0) / (6 + 5 + 4 + 3))
    shares = (5 / 6, (3 + 1) / (5 + 1), (1 + 1) / (4 + 1), (0 + 1) / (3 + 1))
    assert bleu4(LABEL, WRITTEN) == pytest.approx(math.prod(shares) ** 0.25)
    assert rouge1(LABEL, WRITTEN) == pytest.approx(5 / 6)
    assert rouge_l(LABEL, WRITTEN) == pytest.approx(5 / 6)
    assert rouge_l(words_of("a b c d"), words_of("d c b a")) == pytest.approx(1 / 4)
    assert rouge1(words_of("a b c d"), words_of("d c b a")) == 1


def test_a_short_text_is_not_praised_for_being_short() -> None:
    """Of four right words out of eight, BLEU takes the brevity penalty and GLEU the longer text's n-grams."""
    label, written = words_of("a b c d e f g h"), words_of("a b c d")
    assert bleu4(label, written) == pytest.approx(math.exp(1 - 8 / 4))
    assert gleu(label, written) == pytest.approx((4 + 3 + 2 + 1) / (8 + 7 + 6 + 5))


@pytest.mark.parametrize("metric", [gleu, bleu4, rouge1, rouge_l, meteor])
def test_metrics_are_one_of_the_same_and_nothing_of_nothing(metric: Metric) -> None:
    assert metric(LABEL, LABEL) == pytest.approx(1, abs=0.005)  # METEOR counts one run
    assert metric(LABEL, words_of("quite otherwise")) == 0
    assert metric(LABEL, []) == metric([], LABEL) == metric([], []) == 0


def test_meteor_by_hand() -> None:
    """Matched are the, cat, on, the, mat, in runs of two, and three behind the word that has no fellow."""
    mean = 5 / 6  # precision and recall alike
    assert meteor(LABEL, WRITTEN) == pytest.approx(mean * (1 - 0.5 * (2 / 5) ** 3))
    assert aligned(LABEL, WRITTEN) == [(0, 0), (1, 1), (3, 3), (4, 4), (5, 5)]
    assert stems(words_of("Ponies were running, 14!")) == ["poni", "were", "run", ",", "14", "!"]
    half = meteor(words_of("ponies run"), words_of("pony runs"))
    assert half == pytest.approx(meteor(words_of("pony runs"), words_of("pony runs")))  # by their stems
    assert meteor(words_of("a b c d"), words_of("d c b a")) == pytest.approx(0.5)  # four runs of one
    fewer = (0.5 / 1) / (0.9 * 1 + 0.1 * 0.5)  # all of what is written, half of the label
    assert meteor(words_of("a b c d"), words_of("a b")) == pytest.approx(fewer * (1 - 0.5 * (1 / 2) ** 3))


def test_a_text_is_likest_to_itself() -> None:
    likeness = Likeness()
    text, other = "The cat sat on the mat.", "Interest rates fell sharply in March."
    assert likeness(text, text) == pytest.approx(1, abs=1e-4)
    assert likeness(text, "A cat was sitting on a rug.") > likeness(text, other)
    assert likeness(text, other) == pytest.approx(likeness(other, text), abs=1e-5)
    assert likeness(text, "") == likeness("", text) == 0


def test_a_page_is_cut_before_a_word() -> None:
    page = Page("p", "one two three four\nfive six seven eight", "…")
    for share in (0.0, 0.25, 0.5, 0.99):
        typed, rest = page.cut(share)
        assert typed + rest == page.lead
        assert typed
        assert rest[0].isspace()
        assert not rest[1].isspace()
    assert page.cut(0.5) == ("one two three four\nfive", " six seven eight")


def test_pages_are_leads_and_other_sections(tmp_path: Path) -> None:
    """A page whose lead is short is none; headings are in neither part."""
    long = "word " * 100
    text = f" = First = \n \n {long}\n \n = = Life = = \n \n {long}{long}\n \n = = = Late = = = \n \n end , of it\n \n"
    text += f" = Second = \n \n short\n \n = = Life = = \n \n {long}{long}{long}\n"
    for file in FILES:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    found = pages(tmp_path, 5)
    assert [page.name for page in found] == [f"{file.name}-0.txt" for file in FILES]
    assert found[0].lead == long.strip()
    assert found[0].sections == f"{(long + long).strip()}\n\nend, of it"
    assert pages(tmp_path, 1) == found[:1]
    first = corpus(tmp_path, "wikitext2", 2).first(1)
    assert (first.pages, first.read) == (found[:1], {found[0].name: found[0].sections})
    assert first.hidden(*found) == set()
    with pytest.raises(BadRequest):
        pages(tmp_path / "elsewhere", 5)


@pytest.mark.parametrize(
    ("kind", "name", "text"), [("enron", "id", "body"), ("nih", "application_id", "abstract_text")]
)
def test_a_mail_or_an_abstract_is_hidden_while_it_is_typed(tmp_path: Path, kind: Kind, name: str, text: str) -> None:
    """All are read, each once; those of a fit length are typed."""
    words = [(30, "a"), (MIN_LEAD, "b"), (200, "c"), (900, "d"), (200, "c")]
    rows = [json.dumps({name: str(at), text: f"{word}  " * count}) for at, (count, word) in enumerate(words)]
    for file in FILES_OF[kind]:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("\n".join(rows), encoding="utf-8")
    found = corpus(tmp_path, kind, 9)
    assert [page.lead[0] for page in found.pages] == ["b", "c"]
    assert [text[:3] for text in found.read.values()] == ["a a", "b b", "c c", "d d"]
    assert found.hidden(found.pages[0]) == {found.pages[0].name} < set(found.read)
    assert corpus(tmp_path, kind, 1).pages == found.pages[:1]
    with pytest.raises(BadRequest):
        corpus(tmp_path / "elsewhere", kind, 9)


def scored(system: str, nlls: list[float], tokens: int = 10) -> list[Row]:
    return [
        {"system": system, "document": f"{at:03}", "nll": nll, "tokens": tokens, "reference_tokens": 5,
         "reference_bytes": 20, **dict.fromkeys(NEARNESS, 0.1)}
        for at, nll in enumerate(nlls)
    ]  # fmt: skip


def test_perplexity_is_of_all_tokens() -> None:
    assert utility.perplexity([(1.0, 30), (2.0, 10)]) == pytest.approx(math.exp(1.25))


def test_intervals_are_paired() -> None:
    """Pages differ far more than systems do: page by page the saving is seen."""
    pages_nats = [1.0 + at / 3 for at in range(30)]
    worse = [(nats, 10 + at) for at, nats in enumerate(pages_nats)]
    better = [(nats - 0.1 - 0.01 * (at % 2), 10 + at) for at, nats in enumerate(pages_nats)]
    low, high = utility.saved(worse, better)
    assert 0.1 <= low <= high <= 0.11
    assert utility.saved(better, worse) == pytest.approx((-high, -low), abs=2e-3)
    assert utility.saved(worse, worse) == (0, 0)


def test_memory_and_tuning_are_claimed() -> None:
    """Against nothing, against another page's memory, against no tuning, and against tuning alone."""
    report = Report({})
    nats = [3.0 + at / 5 for at in range(FEWEST)]
    for system in SYSTEMS:
        gain = {VANILLA: 0.0, WRONG: 0.2, FT: 0.3, FT_WITHOUT: 0.25}.get(system, 0.1)
        report.rows += scored(system, [each - gain for each in nats])
    utility.claim(report)
    assert [claim["holds"] for claim in report.claims] == [True, False, True, True]
    assert len(CLAIMED) == len(report.claims)
    summed = {str(row["system"]): row for row in utility.summary(report.rows)}
    assert list(summed) == list(SYSTEMS)
    assert summed[VANILLA]["perplexity"] == pytest.approx(math.exp(sum(nats) / len(nats)))
    assert summed[VANILLA]["beside"] is None
    assert summed[WRONG]["saved_low"] == pytest.approx(0.2)  # against nothing
    assert summed[MEMORY]["saved_high"] == pytest.approx(0)  # against as many tokens of passages
    report.rows = [row for row in report.rows if str(row["document"]) < "003"]
    utility.claim(report)
    assert {claim["holds"] for claim in report.claims} == {None}
