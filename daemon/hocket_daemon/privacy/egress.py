"""The policy of what may leave the device, and the record of what left.

The policy comes from the configuration, and a gate before each peer enforces it. The bytes that left are counted by
day, peer, session and class of data, in one small SQLite file.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import structlog
from msgspec import Meta, Struct

from hocket_bus.config import FilePath
from hocket_bus.errors import BadConfiguration, Forbidden, Unavailable
from hocket_bus.messages import CLASS_OF, PEER_CLASSES, Bridge, DataClass, Message, PeerClass, Prompt, Sealed, Side

from ..database import rows_of, written
from .history import HistoryPolicy
from .link_switch import LinkSwitch

NEEDED: tuple[PeerClass, ...] = ("control", "query", "targets")  # no question is answered together without these
TO_SHARE: tuple[PeerClass, ...] = ("control", "summaries")  # nor summaries kept in step without these
TO_REMEMBER: tuple[PeerClass, ...] = ("control", "memory")  # and no memory is asked for without these


class ServerEgressSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Data that may leave this side for a text server: docs/privacy.md."""

    passages: Annotated[
        bool,
        Meta(
            description="passages of this side's documents, with their titles and headings, for the server that "
            "is its model (`[model] engine`); if false, such a side answers from no document"
        ),
    ] = False
    ledger: Annotated[
        FilePath, Meta(description="file that counts what left, for `hocket audit`; empty: nothing is counted")
    ] = ""


class EgressSettings(ServerEgressSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Data that may leave for the cloud or a text server; false keeps it on the device: docs/privacy.md.

    Whatever has no name here stays.
    """

    query: Annotated[
        bool,
        Meta(
            description="questions; if this, `targets` or `control` is false, the device answers every question alone"
        ),
    ] = True
    drafts: Annotated[
        bool | Literal["words"],
        Meta(
            description="next-token distributions and the tokens drawn from them; if false, the device alone "
            'combines both sides: the same tokens, more slowly. `"words"`: only the words of the answer leave, drawn '
            "with noise of this device's own, and the bits that they disclose of each document are counted"
        ),
    ] = True
    bits_a_day: Annotated[
        float,
        Meta(
            ge=0,
            description='limit in bits on what words disclose of each document in a day (`drafts = "words"`); '
            "0: no limit",
        ),
    ] = 0.0
    bits_a_document: Annotated[
        float,
        Meta(
            ge=0,
            description='limit in bits on what words ever disclose of each document (`drafts = "words"`); 0: no limit',
        ),
    ] = 0.0
    targets: Annotated[bool, Meta(description="the tokens of the answer so far")] = True
    control: Annotated[bool, Meta(description="greetings, pings, and the state of each session")] = True
    history: Annotated[
        HistoryPolicy,
        Meta(
            description="earlier turns of a conversation, sent with its next question: those that the cloud has "
            "already read (`seen`), `all`, or `none`"
        ),
    ] = "seen"
    summaries: Annotated[
        bool,
        Meta(
            description="summaries of the parts of this device's knowledge graph: names, topics and relations, "
            "no sentences; if false, the cloud is told to delete those that it has"
        ),
    ] = False
    bridges: Annotated[
        bool,
        Meta(
            description="names from the passage that this device ranks best for a question, with words of the "
            "question, for a second step of the cloud's search; if false, each side takes that step by itself"
        ),
    ] = False
    evidence: Annotated[
        bool, Meta(description="passages of this device's documents, for questions of other devices of its group")
    ] = False
    drafts_for: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
        Meta(
            description="devices of the group that get next-token distributions made from this device's "
            'documents, encrypted end to end, and the names of those documents: `["anna"]`, or `["*"]` for all '
            "whose keys you have confirmed (`hocket keys pin`)"
        ),
    ] = ()
    memory: Annotated[
        bool,
        Meta(
            description="while you compose, the new part of the text, at most 64 words of it and redacted; if "
            "this or `control` is false, suggestions are made from this device's documents alone"
        ),
    ] = True


class PeerGate:
    """The gate to one peer: it lets the classes of the policy pass, and counts what left."""

    def __init__(
        self,
        settings: EgressSettings,
        peer: str,
        ledger: Ledger,
        side: Side = "device",
        also: frozenset[DataClass] = frozenset(),
    ) -> None:
        """Let the classes of the policy and those in `also` pass; refusals name `side` as the place of the policy."""
        allowed = frozenset(name for name in PEER_CLASSES if getattr(settings, name) not in (False, "none", "words"))
        self._allowed: frozenset[DataClass] = allowed | also
        self._peer = peer
        self._place = "this device" if side == "device" else "the cloud"
        self._ledger = ledger

    def check(self, message: Message) -> None:
        """Check a message; a sealed one was checked before. Raises Forbidden for every class not allowed by name."""
        if isinstance(message, Sealed):
            return
        self.require(CLASS_OF[type(message)], type(message).__name__)
        if _of_turns(message):
            self.require("history", "turn of a conversation")
        if _of_bridge(message):
            self.require("bridges", "name found in a passage")

    def count(self, message: Message, size_bytes: int) -> None:
        """Count a message in the ledger; a sealed one was counted by its own class before."""
        if isinstance(message, Sealed):
            return
        session: bytes = getattr(message, "session", b"")
        apart: dict[DataClass, list[str]] = {"history": _of_turns(message), "bridges": _of_bridge(message)}
        sizes = {kind: sum(len(text.encode()) for text in texts) for kind, texts in apart.items()}
        self.add(CLASS_OF[type(message)], session, size_bytes - sum(sizes.values()))
        for kind, size in sizes.items():
            if size:
                self.add(kind, session, size)

    def require(self, kind: DataClass, what: str) -> None:
        """Check data that is no message of the bus; `what` names it. Raises Forbidden."""
        if kind not in self._allowed:
            raise Forbidden(
                f"[egress] keeps {kind} on {self._place}, so no {what} may leave", f"set {kind} = true there"
            )

    def add(self, kind: DataClass, session: bytes, size_bytes: int) -> None:
        """Count data that is no message of the bus; `session` is empty for what belongs to none."""
        self._ledger.count(self._peer, session.hex(), kind, size_bytes)


class ServerPolicy(NamedTuple):
    """The policy for a server of text: what may leave, where that is counted, and the switch that cuts it off."""

    egress: EgressSettings
    ledger: Ledger
    switch: LinkSwitch


def _of_turns(message: Message) -> list[str]:
    """Return the texts of a conversation that travel with a question."""
    prompt: Prompt | None = getattr(message, "prompt", None)
    if prompt is None:
        return []
    turns = [text for turn in prompt.turns for text in (turn.query, turn.answer)]
    return [*turns, prompt.sought] if prompt.sought else turns


def _of_bridge(message: Message) -> list[str]:
    """Return the names that travel with a question, and the text that has them."""
    bridge: Bridge | None = getattr(message, "bridge", None)
    return [bridge.text, *bridge.names] if bridge is not None else []


def obstacle(settings: EgressSettings, needed: Sequence[PeerClass] = NEEDED) -> Forbidden | None:
    """Return why nothing that needs these classes can be done together, if so; then nothing leaves for it at all."""
    kept = [name for name in needed if not getattr(settings, name)]
    if not kept:
        return None
    return Forbidden(f"[egress] keeps {' and '.join(kept)} on this device", "allow it in the device's configuration")


def fact(settings: EgressSettings) -> str:
    """Return the line of `hocket status`: what leaves, in plain words."""
    hindered, alone = obstacle(settings), obstacle(settings, TO_REMEMBER)
    read = "passages, to the server that runs its model (passages = true)" if settings.passages else ""
    if hindered and alone and not _of_graph(settings) and not read:
        return f"nothing: {hindered.text}"
    composed = "" if alone else "new parts of a composed text, at most 64 words, redacted (memory = true)"
    return "; ".join(filter(None, ("" if hindered else _of_questions(settings), composed, _of_graph(settings), read)))


def _of_graph(settings: EgressSettings) -> str:
    shared = {
        "summaries of what documents are about (summaries = true)": settings.summaries,
        "passages that answer other devices' questions (evidence = true)": settings.evidence,
    }
    return "; ".join(line for line, allowed in shared.items() if allowed and settings.control)


def _of_questions(settings: EgressSettings) -> str:
    names = "; names found in passages for them (bridges = true)" if settings.bridges else ""
    if settings.drafts == "words":
        return f'questions and answers\' words, whose bits are counted (drafts = "words"){names}'
    if settings.drafts:
        return f"questions, answers' tokens and draft distributions, or words (drafts = true, the default){names}"
    return f"questions and answers' tokens, no distributions (drafts = false){names}"


MAX_ROWS = 50_000  # about 5 MB; beyond, the sessions of the oldest days become one line
MAX_PENDING = 10_000  # the same for what cannot be written
FOLDED = "older"
MAX_TRAILS = 256  # sessions that are followed: the latest of which anything left

_TABLE = """CREATE TABLE IF NOT EXISTS sent (
    day TEXT, peer TEXT, session TEXT, class TEXT, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (day, peer, session, class)) WITHOUT ROWID"""
_ADD = """INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT
    DO UPDATE SET messages = messages + excluded.messages, bytes = bytes + excluded.bytes"""
_OLDEST = "SELECT min(day) FROM sent WHERE session NOT IN ('', ?)"
_OF_DAY = """SELECT day, peer, ?, class, sum(messages), sum(bytes) FROM sent
    WHERE day = ? AND session NOT IN ('', ?) GROUP BY peer, class"""
_DROP = "DELETE FROM sent WHERE day = ? AND session NOT IN ('', ?)"

log = structlog.get_logger(__name__)


class Entry(NamedTuple):
    """The data that left on one day for one peer in one session; `session` is empty for what is the connection's."""

    day: str
    peer: str
    session: str
    kind: str
    messages: int
    size_bytes: int


class Stretch(NamedTuple):
    """The data of one class that left in one session, with the first and the last time on the monotonic clock."""

    kind: str
    first_s: float
    last_s: float
    messages: int
    size_bytes: int

    def more(self, now_s: float, size_bytes: int) -> Stretch:
        """Return the stretch with one message more."""
        return Stretch(self.kind, self.first_s, now_s, self.messages + 1, self.size_bytes + size_bytes)


class Ledger:
    """The counts of what left, taken from any thread and written down in batches; without a file only sums."""

    def __init__(self, path: Path | None) -> None:
        self.sums: dict[str, int] = {}  # bytes by class since the start
        self.path = path
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._pending: dict[tuple[str, str, str], tuple[int, int]] = {}
        self._trails: dict[str, dict[str, Stretch]] = {}  # of the latest sessions, by class
        self._failing = False

    def count(self, peer: str, session: str, kind: str, size_bytes: int) -> None:
        """Count one message."""
        with self._lock:
            self.sums[kind] = self.sums.get(kind, 0) + size_bytes
            if session:
                self._follow(session, kind, size_bytes)
            if self.path is None:
                return
            if len(self._pending) >= MAX_PENDING:
                session = FOLDED if session else session
            messages, total = self._pending.get((peer, session, kind), (0, 0))
            self._pending[peer, session, kind] = messages + 1, total + size_bytes

    def trail(self, sessions: Sequence[str]) -> list[Stretch]:
        """Return what left in these sessions, by class, in the order in which the classes began."""
        with self._lock:
            found = [stretch for session in sessions for stretch in self._trails.get(session, {}).values()]
        return sorted(found, key=lambda each: each.first_s)

    def _follow(self, session: str, kind: str, size_bytes: int) -> None:
        trail, now_s = self._trails.pop(session, {}), time.monotonic()
        self._trails[session] = trail
        trail[kind] = trail.get(kind, Stretch(kind, now_s, now_s, 0, 0)).more(now_s, size_bytes)
        if len(self._trails) > MAX_TRAILS:
            del self._trails[next(iter(self._trails))]

    def write(self) -> None:
        """Write down the counts; when it returns all of them are in the file, whichever thread wrote them.

        A file that cannot be written is logged once, and nothing is lost meanwhile.
        """
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, {}
        if self.path is None or not pending:
            return
        try:
            _add(self.path, pending)
            self._failing = False
        except (OSError, sqlite3.Error, BadConfiguration) as error:
            if not self._failing:
                log.warning("the ledger cannot be written", file=str(self.path), error=str(error))
            self._failing = True
            self._give_back(pending)

    def _give_back(self, pending: dict[tuple[str, str, str], tuple[int, int]]) -> None:
        with self._lock:
            for key, (messages, size_bytes) in self._pending.items():
                before = pending.get(key, (0, 0))
                pending[key] = before[0] + messages, before[1] + size_bytes
            self._pending = pending


def read(path: Path) -> list[Entry]:
    """Return all entries that are written down, oldest first; none without a file. Raises Unavailable."""
    try:
        return [Entry(*row) for row in rows_of(path, "sent", "SELECT * FROM sent ORDER BY day, peer, session, class")]
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read: {error}", "move it away; the daemon starts a new one") from error


def _add(path: Path, pending: dict[tuple[str, str, str], tuple[int, int]]) -> None:
    day = time.strftime("%Y-%m-%d")
    with written(path, _TABLE) as database:
        database.executemany(_ADD, [(day, *key, *counted) for key, counted in pending.items()])
        while database.execute("SELECT count(*) FROM sent").fetchone()[0] > MAX_ROWS and _fold(database):
            pass


def _fold(database: sqlite3.Connection) -> bool:
    """Make one line a class of the oldest day's sessions; return whether there were any."""
    (day,) = database.execute(_OLDEST, (FOLDED,)).fetchone()
    if day is None:
        return False
    folded = database.execute(_OF_DAY, (FOLDED, day, FOLDED)).fetchall()
    database.execute(_DROP, (day, FOLDED))
    database.executemany(_ADD, folded)
    return True
