"""Searching, scoring and storing documents: messages between any end and a retrieval daemon."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .types import Conversation, Count, Entry, Folders, Id, Line, Message, Name, Record, Scorers, Seconds

MAX_PATHS = 1_000  # of one request
SearchText = Annotated[str, Meta(max_length=100_000)]
Rank = Annotated[float, Meta(ge=0, le=1)]
PassageWords = Annotated[int, Meta(ge=0, le=4_096)]


class Bridge(Record, frozen=True):
    """A second search after the best passage for a question: its text, and names of which a passage must have one.

    The text has the question's words that the passage has not, and the names. `score` is the passage's.
    """

    text: Line
    names: Annotated[list[Line], Meta(max_length=10)]
    score: float


class Search(Message, frozen=True):
    """A request for the best `k` passages, by the scorer of this name if there is one, else by the best that there is.

    `within` are folders, or documents, that alone are searched; empty: all are. A passage has at most so many `words`,
    but always those of the chunk that was found; 0: these alone. `others` are other forms of the question, in a
    conversation: with words of the questions before it, and last all of them joined. `bridge` is what the best passage
    elsewhere leads to, which is followed if no passage here is nearer to the question. With one step nothing
    is followed.
    """

    request: Id
    query: SearchText
    k: Annotated[int, Meta(ge=0, le=64)] = 2
    scorer: Line = ""
    within: Folders = []
    words: PassageWords = 0
    others: Annotated[list[SearchText], Meta(max_length=2)] = []
    bridge: Bridge | None = None
    steps: Annotated[int, Meta(ge=1, le=2)] = 2


class Place(Record, frozen=True):
    """The place of a passage: the name of its document and its number there; the rest is as in a Passage."""

    document: Line
    ordinal: Count
    device: Name = ""
    subgraph: Count = 0
    score: float = 0.0
    place: Line = ""


class Passage(Record, frozen=True):
    """A chunk of a document, perhaps with those around it.

    `score` is how well the chunk answers the query by the scorer, the same scale on both sides.
    `subgraph` holds most of its entities, 0 if none does; `device` has it, empty if it is this side's own.
    `place` says where in the file the chunk is, such as "p. 3, § Deposit", empty if nothing tells. `led` are passages
    of other documents to which this one leads; their chunks follow its own text. `rank` is 1 over its place
    among the candidates of the search, the mean over the question's forms; it is a part of `score`.
    """

    document: Line
    title: Line
    ordinal: Count
    text: Annotated[str, Meta(max_length=100_000)]
    score: float
    subgraph: Count = 0
    device: Name = ""
    place: Line = ""
    led: Annotated[list[Place], Meta(max_length=4)] = []
    rank: Rank = 0.0


Time = Annotated[str, Meta(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$")]  # as fully as it is told


class Older(Record, frozen=True):
    """A document of which a passage was left out: the `newer` one has one on the same thing, of a later time."""

    document: Line
    time: Time
    newer: Line
    newer_time: Time


class Passages(Message, frozen=True):
    """The answer to Search, best first. `documents_total` is 0 if nothing is ingested.

    `scorer` names what the scores mean, `scorers` all that could have been requested, the best first. `older` are those
    that were left out for newer ones. `form` is the form of the question that it is about: 0, the query, or the first
    of the others. `bridge` is what the best passage leads to, if anything.
    """

    request: Id
    passages: Annotated[list[Passage], Meta(max_length=64)]
    scorer: Line
    scorers: Scorers
    documents_total: Count
    seconds: Seconds
    older: Annotated[list[Older], Meta(max_length=64)] = []
    form: Annotated[int, Meta(ge=0, le=1)] = 0
    bridge: Bridge | None = None


class Score(Message, frozen=True):
    """A request to score passages, found before, for a text, by the scorer that found them, whose ranks are `ranks`."""

    request: Id
    query: Annotated[str, Meta(max_length=100_000)]
    places: Annotated[list[Place], Meta(max_length=64)]
    scorer: Line = ""
    ranks: Annotated[list[Rank], Meta(max_length=64)] = []


class Scores(Message, frozen=True):
    """The answer to Score, in its order; the same scale as a Passage's."""

    request: Id
    scores: Annotated[list[float], Meta(max_length=64)]


class Weigh(Message, frozen=True):
    """A request to score texts of others, by the scorer of this name. Answered with Scores.

    `names` are headings of the texts, one each, or there are none.
    """

    request: Id
    query: Annotated[str, Meta(max_length=100_000)]
    texts: Annotated[list[Annotated[str, Meta(max_length=50_000)]], Meta(max_length=64)]
    scorer: Line = ""
    names: Annotated[list[Annotated[str, Meta(max_length=50_000)]], Meta(max_length=64)] = []


class Extract(Message, frozen=True):
    """A request for the `sentences` nearest the query among those of the `k` best passages."""

    request: Id
    query: Annotated[str, Meta(max_length=100_000)]
    k: Annotated[int, Meta(ge=1, le=64)] = 3
    sentences: Annotated[int, Meta(ge=1, le=64)] = 6


class Sentence(Record, frozen=True):
    """A sentence of a document, and its similarity to the query."""

    document: Line
    text: Line
    score: float


class Extracted(Message, frozen=True):
    """The answer to Extract, best first; no two have the same text."""

    request: Id
    sentences: Annotated[list[Sentence], Meta(max_length=64)]
    seconds: Seconds


class Drop(Message, frozen=True):
    """A notice that nobody waits for a request any more. One that has not begun is answered with an Error at once."""

    request: Id


class Ingest(Message, frozen=True):
    """A request to read these files and folders, absolute paths on the retrieval daemon's machine."""

    request: Id
    paths: Annotated[list[Annotated[str, Meta(max_length=4_096)]], Meta(max_length=MAX_PATHS)]


class Progress(Message, frozen=True):
    """The progress of an ingestion; the first of several before Ingested confirms that it survives the daemon's end.

    `chunks_total` and `left_s` are estimates, the latter 0 while there is none. `current` is the file at hand, another
    ingestion's while this one is `waiting` for it.
    """

    request: Id
    files_done: Count
    files_total: Count
    chunks_done: Count
    chunks_total: Count
    current: Line = ""
    left_s: Seconds = 0.0
    waiting: bool = False


class Ingested(Message, frozen=True):
    """The end of an ingestion. `failures` are lines for people, one for each file that could not be read.

    `notices` are lines about what else was not read. `skipped` counts files of folders that are of no known type,
    `embedded` the chunks whose vectors were not there yet, `removed` the documents of folders whose files are gone or
    empty.
    """

    request: Id
    added: Count
    unchanged: Count
    replaced: Count
    skipped: Count
    chunks: Count
    embedded: Count
    seconds: Seconds
    embedding_s: Seconds
    failures: Annotated[list[Line], Meta(max_length=1_000)] = []
    removed: Count = 0
    notices: Annotated[list[Line], Meta(max_length=1_000)] = []


class ListSubgraphs(Message, frozen=True):
    """A request for the parts of the knowledge graph, from the `offset`-th on in the order of their ids."""

    request: Id
    offset: Count = 0


class Subgraph(Record, frozen=True):
    """A part of the graph; `summary` is its text as it may leave, empty if nothing of it may."""

    id: Count
    version: Count
    entities: Count
    documents: Count
    summary: Annotated[str, Meta(max_length=4_000)]


class Subgraphs(Message, frozen=True):
    """A page of subgraphs; `total` counts all of them, `state` grows with every change of any.

    `store` is a number of the document store's own. `building` says that documents wait for their entities.
    """

    request: Id
    state: Count
    building: bool
    documents: Count
    entities: Count
    relations: Count
    modularity: float
    subgraphs: Annotated[list[Subgraph], Meta(max_length=200)]
    total: Count
    store: Name = ""


class Remove(Message, frozen=True):
    """A request to forget documents by name, or by the folder they lie in."""

    request: Id
    documents: Annotated[list[Line], Meta(max_length=1_000)]


class Removed(Message, frozen=True):
    """The answer to Remove; `missing` were not there."""

    request: Id
    removed: Count
    missing: Annotated[list[Line], Meta(max_length=1_000)]


class ListDocuments(Message, frozen=True):
    """A request for the documents, from the `offset`-th on in the order of their names."""

    request: Id
    offset: Count = 0


class Document(Record, frozen=True):
    """An ingested document."""

    name: Line
    title: Line
    chunks: Count


class Documents(Message, frozen=True):
    """A page of documents; `total` counts all of them."""

    request: Id
    documents: Annotated[list[Document], Meta(max_length=1_000)]
    total: Count


class Survey(Message, frozen=True):
    """A request for documents that have all significant words of `text`, in any form; an empty text: all documents.

    Only files with one of the `suffixes`, such as ".pdf", count, if there are any, and only those `within` folders.
    `when` are a person's words for a time, such as "March 2026" or "last week": only documents of it count. `folder`
    has the last parts of a folder's path, such as "notes/trips", in either case: only documents below such a folder
    count. They come in the `order` of their names, or the newest or oldest first.
    """

    request: Id
    text: Annotated[str, Meta(max_length=8_000)] = ""
    suffixes: Annotated[list[Name], Meta(max_length=16)] = []
    within: Folders = []
    when: Line = ""
    folder: Line = ""
    order: Literal["name", "newest", "oldest"] = "name"


class Kind(Record, frozen=True):
    """The number of documents whose names end in a suffix."""

    suffix: Name
    documents: Count


class Surveyed(Message, frozen=True):
    """The answer to Survey: how many documents, of which types, and the names of the first, in their order.

    `whole` is false if more passages have one of the words, or more documents are to be dated, than are looked through.
    If time was asked for, `days` are the documents' own, and `when` is the time as it was understood: empty if it is
    none.
    """

    request: Id
    total: Count
    kinds: Annotated[list[Kind], Meta(max_length=64)]
    names: Annotated[list[Line], Meta(max_length=200)]
    whole: bool = True
    days: Annotated[list[Name], Meta(max_length=200)] = []
    when: Name = ""


class ListChunks(Message, frozen=True):
    """A request for the texts of the passages after the chunk numbered `after`; 0 for the first ones.

    They are those that a Search for so many `words` can find.
    """

    request: Id
    after: Count = 0
    words: PassageWords = 0


class Chunks(Message, frozen=True):
    """A page of texts, empty after the last page; its last text begins with the chunk `last`.

    `version` grows with every change.
    """

    request: Id
    version: Count
    texts: Annotated[list[Annotated[str, Meta(max_length=50_000)]], Meta(max_length=1_000)]
    last: Count


CONVERSATION = Conversation(
    codes=range(48, 72),
    entries=(
        Entry(48, Search, "query", "documents"),
        Entry(49, Passages, "documents", "never"),
        Entry(50, Score, "documents", "documents"),
        Entry(51, Scores, "documents", "never"),
        Entry(52, Ingest, "documents", "documents"),
        Entry(53, Progress, "documents", "never"),
        Entry(54, Ingested, "documents", "never"),
        Entry(55, Remove, "documents", "documents"),
        Entry(56, Removed, "documents", "never"),
        Entry(57, ListDocuments, "documents", "documents"),
        Entry(58, Documents, "documents", "never"),
        Entry(59, ListChunks, "documents", "documents"),
        Entry(60, Chunks, "documents", "never"),
        Entry(62, Drop, "documents", "documents"),
        Entry(63, Extract, "query", "documents"),
        Entry(64, Extracted, "documents", "never"),
        Entry(65, ListSubgraphs, "documents", "documents"),
        Entry(66, Subgraphs, "documents", "never"),
        Entry(67, Weigh, "documents", "documents"),
        Entry(68, Survey, "query", "documents"),
        Entry(69, Surveyed, "documents", "never"),
    ),
)
