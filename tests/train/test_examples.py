"""Laws of what is learned from: documents, made-up facts, memory, labels."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from asking import fixed
from scripted_server import DONE, PLAIN, piece, serving

from hocket_bus.errors import BadRequest
from hocket_lab.bench.composition.facts import make_facts
from hocket_lab.bench.composition.kinds import KINDS as BENCH_KINDS
from hocket_retrieval.text.chunking import sentences
from hocket_tools.main import run
from hocket_tools.train.examples import FACTS, SHARES, Example, Examples, cut
from hocket_tools.train.facts import Facts, names
from hocket_tools.train.labels import OWN, SUPPORTED, label_of, labelled, supported
from hocket_tools.train.sections import MAXIMUM, MINIMUM, WIKITEXT, sections
from hocket_tools.train.wordings import KINDS

PLACES = ["Marlow", "Tarnow", "Ostrava", "Kelso", "Ravenna", "Bilbao", "Odessa", "Tromso", "Galway", "Leiden"]
TOPICS = ["harbour", "mill", "market", "orchard", "chapel", "railway", "lighthouse", "quarry"]


def sentence(rng: random.Random) -> str:
    verb = rng.choice(["lies behind", "was sold to", "was painted by", "stands beside", "fell to"])
    return f"In {rng.choice(PLACES)} the {rng.choice(TOPICS)} of {rng.choice(PLACES)} {verb} {rng.randint(10, 9999)}."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = random.Random(1)
    for number in range(6):
        text = " ".join(sentence(rng) for _ in range(60))
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def made(folder: Path, count: int, seed: int = 0, spare: int = 1) -> list[Example]:
    examples = Examples(
        sections(folder), count, random.Random(seed), lambda text: [ord(letter) for letter in text[::4]], spare=spare
    )
    with examples.read(iter) as found:
        drawn = list(found)
    assert len(drawn) == examples.count
    return drawn


@pytest.mark.slow
def test_spare_sections_are_drawn_beside_as_many_facts(folder: Path) -> None:
    drawn = made(folder, 8, spare=3)
    facts = sum(example.is_fact for example in drawn)
    assert facts == round(8 * FACTS)
    assert len(drawn) - facts == 3 * (8 - facts)


def test_sections_are_parts_of_texts_and_of_wikitexts_training_file_alone(folder: Path) -> None:
    long = "The <unk> mill stood . It was old and grey . " + "A word of it , said twice . " * 20
    page = f" = Mill = \n \n {long}\n \n = = Life = = \n \n {long}\n"
    for name in (WIKITEXT, "wiki.test.tokens", "wiki.valid.raw"):
        (folder / name).write_text(page, encoding="utf-8")
    (folder / "short.md").write_text("A few words.", encoding="utf-8")
    found = sections(folder)
    assert len({section.name for section in found}) == len(found)
    assert {section.name.split("#")[0].split("/")[0] for section in found} == {f"{n}.txt" for n in range(6)} | {
        WIKITEXT
    }
    assert all(MINIMUM <= len(section.text.split()) <= MAXIMUM for section in found)
    read = " ".join(section.text for section in found)
    assert "It was old and grey. A word of it, said twice." in read
    assert "unk" not in read
    assert "Life" not in read


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest):
        sections(tmp_path)


@pytest.mark.slow
def test_examples_are_typed_texts_with_the_memory_of_others(folder: Path) -> None:
    """Typed text and rest are a section; no takeaway is of it; facts, and some without memory, are among them."""
    texts = {section.text: section for section in sections(folder)}
    found = made(folder, 16)
    prose = [example for example in found if not example.is_fact]
    assert len(found) == 16
    assert len(prose) == 16 - round(16 * FACTS)
    for example in prose:
        own = example.typed + example.rest
        assert own in texts
        assert SHARES[0] - 0.01 < len(example.typed) / len(own) < SHARES[1] + 0.1
        parts = {own[start:end].strip() for start, end in sentences(own)}
        assert not parts & set(example.takeaways)
    remembering = [example for example in found if example.takeaways]
    assert 0.6 * len(found) < len(remembering) < len(found)
    assert any(
        example.rest.strip() in takeaway for example in found if example.is_fact for takeaway in example.takeaways
    )
    assert made(folder, 16) == found
    assert made(folder, 16, seed=1) != found


def test_a_text_is_cut_before_a_word() -> None:
    assert cut("one two three four", 0.5) == ("one two three", " four")
    assert cut("one two three four", 0.4) == ("one two", " three four")
    assert cut("one", 0.5) == ("one", "")


def test_facts_are_others_than_those_of_the_benchmark() -> None:
    """No wording, no two words of one, and no name is in both; a document states what its text goes on with."""
    theirs = {part for kind in BENCH_KINDS for part in (kind.own, kind.other)}
    ours = [wording for kind in KINDS for wording in kind.wordings]
    assert not theirs & set(ours)
    assert len(set(ours)) == len(ours)
    rng = random.Random(2)
    facts = Facts(rng, [sentence(rng) for _ in range(500)])
    benched = make_facts(300, 0)
    values = {fact.value for fact in benched if len(fact.value) > 4} | {fact.subject for fact in benched}
    in_other_words = 0
    for _ in range(500):
        fact = facts.make()
        assert fact.rest.startswith(" ")
        assert f"{fact.rest} " in f"{fact.document} "
        assert not any(value in fact.document for value in values)
        in_other_words += fact.beginning.rpartition(". ")[2] + fact.rest not in fact.document
    assert 150 < in_other_words < 350


def test_facts_need_no_names_and_no_sentences() -> None:
    """A few notes without names are documents, too."""
    bare = Facts(random.Random(0), [])
    assert len({bare.make() for _ in range(50)}) == 50


def test_names_stand_inside_sentences_more_than_once() -> None:
    assert names(["The mill of Tarnow stood, Kelso fell.", "Leiden saw the mill of Tarnow."]) == ["Tarnow"]


def test_a_supported_label_ends_before_what_memory_does_not_say() -> None:
    example = Example(
        ("The bridge at Tarnow was painted in 1874.",),
        "Once",
        " The bridge was painted in 1874. Nobody knew its colour.",
    )
    assert supported(example) == " The bridge was painted in 1874."
    assert supported(Example(example.takeaways, "Once", " Nobody knew its colour.")) == ""
    assert supported(Example((), example.typed, example.rest)) == ""
    fact = Example((), "Anna keeps", " nine hens.", is_fact=True)
    bare = Example((), "Once", " upon a time.")
    assert list(labelled([fact, bare], label_of(SUPPORTED, "", None))) == [fact]
    assert list(labelled([fact, bare], label_of(OWN, "", None))) == [fact, bare]


def test_a_large_model_is_asked_with_memory_and_text() -> None:
    answer = (PLAIN, piece(" in winter", finish=None), piece(".", finish="stop"), DONE)
    example = Example(("Ferries cost more in winter.",), "The ferry costs more", " today.")
    with serving(fixed(*answer)) as server:
        label = label_of(server.url, "large", None)
        assert [each.rest for each in labelled([example], label)] == [" in winter."]
        assert server.body["model"] == "large"
        assert "Ferries cost more in winter." in server.body["prompt"]
        assert "Complete the following paragraph" in server.body["prompt"]
        assert "The ferry costs more" in server.body["prompt"]


@pytest.mark.slow
def test_the_command_leaves_weights_and_a_run_of_other_settings_is_refused(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_models: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path_factory.mktemp("out") / "run"
    arguments = [
        "train",
        "composition",
        "--data",
        str(folder),
        "--out",
        str(out),
        "--model",
        str(tiny_models["device"]),
    ]
    assert run([*arguments, "--steps", "2", "--labels", "supported"]) == 0
    assert "no large model" in capsys.readouterr().err
    assert (out / "weights" / "model.safetensors").is_file()
    written = (out / "weights" / "model.safetensors").read_bytes()
    assert len((out / "losses.jsonl").read_text().splitlines()) == 2
    assert run([*arguments, "--steps", "2", "--labels", "supported"]) == 0  # nothing is left to do
    assert (out / "weights" / "model.safetensors").read_bytes() == written
    assert len((out / "losses.jsonl").read_text().splitlines()) == 2
    assert run([*arguments, "--steps", "3", "--labels", "supported"]) == 2
    assert run([*arguments[:-1], "nowhere", "--steps", "2"]) != 0
