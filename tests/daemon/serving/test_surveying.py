"""A question about the collection as a session: its answer, and the side that reads a file that is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from hocket_bus.errors import Unavailable
from hocket_bus.messages import Ask, Kind, Prompt, Sampling, Surveyed
from hocket_daemon.serving.search.about_collection import asked_of_collection
from hocket_daemon.serving.sessions.surveying import ELSEWHERE, Surveying

FOUND = Surveyed(request=bytes(16), total=2, kinds=[Kind(".md", 2)], names=["/n/a.md", "/n/b.md"])
ASK = Ask(request=bytes(16), topic=bytes(16), prompt=Prompt(query="x"), mode="auto", sampling=Sampling())


class World:
    """A session, and all that it says and begins."""

    def __init__(self, query: str, peer: object) -> None:
        self.done, self.said, self.begun, self.surveys = list[Any](), list[str](), list[Any](), list[Any]()
        ask = replace(ASK, prompt=Prompt(query=query))
        lookups = SimpleNamespace(ask=lambda *asked: self.surveys.append(asked), close=lambda: None)
        services = SimpleNamespace(
            side="device",
            retrieval=SimpleNamespace(lookups=lambda _: lookups),
            model=SimpleNamespace(continued=lambda text: [ord(letter) for letter in text]),
        )
        reply = SimpleNamespace(
            user="",
            ask=ask,
            notice=self.said.append,
            withhold=lambda ids: self.said.append("".join(map(chr, ids))),
            finish=lambda *ended: self.done.append(ended),
            fail=self.done.append,
        )
        asked = asked_of_collection(query)
        assert asked is not None
        self.session = Surveying(ask, asked, reply, services, begun=self._begin, peer=peer)  # type: ignore[arg-type]

    def _begin(self, *begun: Any) -> Any:
        self.begun.append(begun)
        return SimpleNamespace(closed=False)

    def answer(self, outcome: object) -> None:
        ((_, done),) = self.surveys
        done(outcome)


@pytest.mark.parametrize("peer", [None, "the cloud"])
def test_a_list_is_the_store_s_and_ends_the_session(peer: object) -> None:
    """Its sources are the files, in equal parts; where there is another side it is said that it was not asked."""
    world = World("Which files mention Henning?", peer)
    world.answer(FOUND)
    ((finish, _, sourced),) = world.done
    assert (finish, [each.document for each in sourced.origins]) == ("eos", FOUND.names)
    assert sum(each.share for each in sourced.origins) == pytest.approx(1)
    assert "2 documents have “Henning” in them: a.md and b.md." in world.said
    assert (ELSEWHERE in world.said) is (peer is not None)
    assert world.session.closed
    assert not world.begun


def test_a_list_names_what_fits_into_the_answer() -> None:
    """It ends with a sentence, and counts the rest."""
    world = World("Which files mention Henning?", None)
    names = [f"/n/note {number:02}.md" for number in range(20)]
    world.answer(replace(FOUND, total=20, names=names))
    (text,) = world.said
    assert len(text) <= ASK.sampling.max_tokens
    assert text.endswith("more.")
    assert names[0][3:] in text


@pytest.mark.parametrize(
    ("query", "is_listed"),
    [("What is in the folder trips?", False), ("Which PDFs are in the folder trips?", True)],
)
def test_a_folder_that_has_no_document_may_be_a_thing_that_a_document_tells_of(query: str, is_listed: bool) -> None:
    """A binder, say; where files of a type are asked for there is none."""
    world = World(query, "the cloud")
    ((survey, _),) = world.surveys
    assert (survey.folder, survey.order) == ("trips", "name")
    world.answer(replace(FOUND, total=0, kinds=[], names=[]))
    assert (bool(world.done), bool(world.begun)) == (is_listed, not is_listed)


def test_a_named_file_is_read_alone() -> None:
    """Within it, whatever its score, and without the other side; a name that no file has is a question as any."""
    world = World("Summarise b.md", "the cloud")
    world.answer(FOUND)
    ((ask, _, peer),) = world.begun
    assert (ask.within, ask.unknown, peer) == (["/n/b.md"], "answer", None)
    world = World("Summarise the lease", "the cloud")
    world.answer(FOUND)
    ((ask, _, peer),) = world.begun
    assert (ask.within, peer) == ([], "the cloud")


def test_words_that_mean_no_time_are_a_question_as_any() -> None:
    """The store says what it understood; both sides answer then."""
    world = World("Which notes are from the March of Brandenburg?", "the cloud")
    ((survey, _),) = world.surveys
    assert (survey.when, survey.order) == ("the March of Brandenburg", "newest")
    world.answer(replace(FOUND, total=0, names=[]))
    ((ask, _, peer),) = world.begun
    assert (ask.within, peer) == ([], "the cloud")
    world = World("Which notes are from March 2026?", None)
    world.answer(replace(FOUND, days=["2026-03-02", "2026-03"], when="2026-03"))
    assert "2 documents here are from 2026-03: a.md (2026-03-02) and b.md (2026-03)." in world.said
    assert not world.begun


def test_a_store_that_does_not_answer_ends_the_question() -> None:
    """With its error."""
    world, error = World("How many notes do I have?", None), Unavailable("no retrieval daemon", "start it")
    world.answer(error)
    assert world.done == [error]
    assert world.session.closed
