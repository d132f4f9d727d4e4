"""A model run by a server that reports the likeliest next tokens: a row is the ids that are sent to it.

Nothing is kept here but ids: what a server has read of a row before, it finds by itself. The requests of a pass are on
their way at once, each on a connection that is kept, and end together.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hocket_bus.errors import BadConfiguration, DeadlineExceeded, ProtocolError, Unavailable
from hocket_bus.messages import DataClass
from hocket_bus.web.connection import BROKEN, HttpConnection
from hocket_bus.web.server_address import ServerAddress, is_here

from ....privacy.egress import PeerGate
from ....privacy.link_switch import CUT, LinkSwitch
from ...preemption import Interrupt
from ...sampling.heads import NO_PROBABILITIES, Heads
from ...segments import Contents, Segment
from ...settings import ModelSettings, ServerSettings
from ..rows import RowMemory
from .logprobs import Likeliest, body_of, parsed, refusal_of, size_of
from .remote_model import NO_DISTRIBUTIONS, RemoteModel

MAX_REQUESTS = 32  # at once
PASS_TOKENS = 512  # of a prompt: a server has a GPU, and each part costs a request
_ANSWER_BYTES = 1 << 20  # at most, and so many for each log-probability
_EACH_BYTES = 1 << 10
_OTHER_IDS = BadConfiguration(
    "the server's token ids differ from those of this side's tokenizer", "set [model] name to the model of [server]"
)


class _Place(NamedTuple):
    """A query for what follows `ids`, the last `new` of which are new; each of `given` followed one of these."""

    ids: list[int]
    new: int
    given: list[int]
    contents: Contents


class _Rows(RowMemory):
    """Rows of ids, each with what it is declared to hold."""

    def __init__(self, settings: ModelSettings, check: Callable[[Contents], None]) -> None:
        """Create empty rows; `check` raises the error that keeps contents from being sent."""
        super().__init__(settings.slots, settings.context)
        self._check = check
        self._ids: list[list[int]] = [[] for _ in range(settings.slots)]
        self._contents: list[Contents | None] = [None] * settings.slots

    def declare(self, row: int, contents: Contents) -> None:
        """Declare what a row will hold. Raises Forbidden where [egress] keeps any of it here."""
        self._check(contents)
        self._contents[row] = contents

    def give_back(self, rows: Sequence[int]) -> None:
        """Free rows and forget their declared contents."""
        super().give_back(rows)
        for row in rows:
            self._contents[row] = None

    def roll_back(self, row: int, length: int) -> None:
        """Forget all but the first `length` tokens of a row, which holds at least as many."""
        super().roll_back(row, length)
        del self._ids[row][length:]

    def places(self, segment: Segment) -> Iterator[_Place]:
        """Yield the queries of a segment. Raises BadRequest for rows whose contents were not declared."""
        for row, ids, given in segment.each():
            contents = self._contents[row]
            if contents is None:
                raise NO_DISTRIBUTIONS
            whole = [*self._ids[row], *ids]
            for new in range(1, len(ids)) if segment.every else ():
                yield _Place(whole[: len(whole) - len(ids) + new], new, [], contents)
            yield _Place(whole, len(ids), given, contents)

    def append(self, segment: Segment) -> None:
        """Lengthen the rows."""
        for row, ids, _ in segment.each():
            self._ids[row] += ids
            self.lengths[row] += len(ids)


class LogprobModel(RemoteModel):
    """The LanguageModel of such a server. Its requests pass the gate of [egress] and are counted in its ledger."""

    prefill_tokens = PASS_TOKENS
    slots: _Rows

    def __init__(
        self,
        settings: ModelSettings,
        folder: Path,
        server: ServerAddress,
        asked: ServerSettings,
        *,
        gate: PeerGate,
        switch: LinkSwitch,
    ) -> None:
        """Prepare the model; `server` takes completions. Raises BadConfiguration.

        While `switch` is cut, a server elsewhere is asked nothing.
        """
        super().__init__(settings, folder, asked.model, f"{server.place}, {asked.logprobs} log-probabilities a token")
        self.slots = _Rows(settings, self._check)
        self._number = min(asked.logprobs, self.vocabulary)
        self._asked, self._gate, self._switch = asked, gate, switch
        self._connections = _Connections(server)
        self._pool = ThreadPoolExecutor(min(settings.slots, MAX_REQUESTS), "server row")
        self._known: set[int] = set()  # ids that are the server's, too

    def read(self, segments: Sequence[Segment], interrupt: Interrupt | None = None) -> list[Heads]:
        """Append all segments. Raises what keeps the server from answering; the rows are then as they were."""
        self.slots.check_room(segments)
        places = [list(self.slots.places(segment)) for segment in segments]
        found = iter(self._ask([place for each in places for place in each], interrupt or Interrupt()))
        heads = [self._heads([(place, next(found)) for place in each]) for each in places]
        for segment in segments:
            self.slots.append(segment)
        return heads

    def close(self) -> None:
        """Close all connections without waiting for what the server still owes."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._connections.close()

    def _check(self, contents: Contents) -> None:
        """Check that the contents may be sent to the server. Raises Forbidden."""
        self._check_link()
        self._gate.require("query", "question")
        self._gate.require("targets", "answer")
        if contents.passage > contents.lead:
            self._gate.require("passages", "passage")
        if contents.turns > contents.passage:
            self._gate.require("history", "turn of a conversation")

    def _check_link(self) -> None:
        if self._switch.is_cut and not is_here(self._connections.server.host):
            raise CUT

    def _ask(self, places: list[_Place], interrupt: Interrupt) -> list[Likeliest]:
        """Send all queries at once; the first that fails, or an interrupt, ends the others."""
        self._check_link()
        asking = _Pass()
        interrupt.when_set(asking.end)
        jobs = [self._pool.submit(self._likeliest, place, asking) for place in places]
        done, rest = wait(jobs, return_when=FIRST_EXCEPTION)
        if rest:
            asking.end()
            wait(rest)
        interrupt.raise_if_set()
        for job in done:
            job.result()
        return [job.result() for job in jobs]

    def _heads(self, found: list[tuple[_Place, Likeliest]]) -> Heads:
        heads = Heads(np.zeros((len(found), self._number), np.float32), np.zeros((len(found), self._number), np.int32))
        assert heads.ids is not None
        for at, (_, each) in enumerate(found):
            heads.ids[at, : len(each.ids)] = each.ids
            heads.probabilities[at, : len(each.ids)] = each.probabilities
        given = [self._given(heads.at(at), *each) for at, each in enumerate(found) if each[0].given]
        return Heads(heads.probabilities, heads.ids, np.concatenate(given) if given else NO_PROBABILITIES)

    def _given(self, head: Heads, place: _Place, found: Likeliest) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """Return the probabilities of the given ids, in the prompt or after it; none where the server reports none."""
        if found.prompt is None:
            return NO_PROBABILITIES
        inside = found.prompt[len(found.prompt) - (place.new - 1) :][: len(place.given)]
        if len(place.given) == place.new:
            inside = np.append(inside, head.of(place.given[-1], self.vocabulary)).astype(np.float32)
        return inside

    # --- on a thread for each request

    def _likeliest(self, place: _Place, asking: _Pass) -> Likeliest:
        is_step = place.new == 1
        wait_s, name = (
            (self._asked.piece_wait_s, "piece_wait_s") if is_step else (self._asked.first_wait_s, "first_wait_s")
        )
        where = self._connections.server.place
        try:
            with self._connections.one(asking) as connection:
                body = self._body(connection, place, time.monotonic() + wait_s)
        except TimeoutError as error:
            text = f"{where} has sent nothing for {wait_s:g} s"
            raise DeadlineExceeded(text, f"ask again, or raise server.{name} under [expert]") from error
        except BROKEN as error:
            raise Unavailable(f"{where} broke the connection", "ask again, or see its log") from error
        found = parsed(body, place.ids, self._number, self.vocabulary)
        self._compare(found.fragments)
        return found

    def _body(self, connection: HttpConnection, place: _Place, until_s: float) -> bytes:
        body = body_of(place.ids, self._asked.model, self._number, scored=bool(place.given))
        request = self._connections.server.post(body, "application/json", keeps=True)
        answer = self._answer(connection, request, place, until_s)
        content, most = b"", _ANSWER_BYTES + self._number * _EACH_BYTES
        while len(content) < most and (more := connection.read(answer, until_s)):
            content += more
        if answer.length or len(content) >= most:
            raise ProtocolError("the server's answer is too long, or incomplete", "see its log")
        if answer.will_close:
            connection.close()
        if answer.status != 200:
            raise refusal_of(answer.status, content, answer.headers.get("Retry-After", ""), self._number)
        return content

    def _answer(self, connection: HttpConnection, request: bytes, place: _Place, until_s: float) -> HTTPResponse:
        """Send on the kept connection, or on a new one where the server has just closed the kept one."""
        if connection.is_open:
            try:
                return self._send(connection, request, place, until_s)
            except TimeoutError:
                raise
            except BROKEN:
                pass
        connection.open(time.monotonic() + self._asked.connect_wait_s)
        return self._send(connection, request, place, until_s)

    def _send(self, connection: HttpConnection, request: bytes, place: _Place, until_s: float) -> HTTPResponse:
        """Count a request, each id by its class and all the rest with the question, and then send it."""
        ids, contents = place.ids, place.contents
        parts: dict[DataClass, list[int]] = {
            "passages": ids[contents.lead : contents.passage],
            "history": ids[contents.passage : contents.turns],
            "targets": ids[contents.question :],
        }
        sizes = {kind: size_of(part) for kind, part in parts.items() if part}
        sizes["query"] = len(request) - sum(sizes.values())
        for kind, size_bytes in sizes.items():
            self._gate.add(kind, contents.session, size_bytes)
        return connection.send(request, until_s)

    def _compare(self, fragments: dict[int, bytes]) -> None:
        """Raise BadConfiguration where the server means another token by an id."""
        new = fragments.keys() - self._known
        if any(id >= self.vocabulary or self.piece(id) != fragments[id] for id in new):
            raise _OTHER_IDS
        self._known |= new


class _Pass:
    """The connections of a pass, which can be ended from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: set[HttpConnection] = set()
        self._has_ended = False

    def hold(self, connection: HttpConnection) -> None:
        """Add a connection, and close it if the pass has ended."""
        with self._lock:
            self._connections.add(connection)
            if self._has_ended:
                connection.close()

    def release(self, connection: HttpConnection) -> None:
        """Remove a connection whose query is done."""
        with self._lock:
            self._connections.discard(connection)

    def end(self) -> None:
        """Close all connections: whoever waits wakes, and the server sees that nobody waits any more."""
        with self._lock:
            self._has_ended = True
            for connection in self._connections:
                connection.close()


class _Connections:
    """The connections that are kept between passes. Usable from any thread."""

    def __init__(self, server: ServerAddress) -> None:
        self.server = server
        self._context = ssl.create_default_context() if server.is_encrypted else None
        self._kept: list[HttpConnection] = []
        self._lock = threading.Lock()

    @contextmanager
    def one(self, asking: _Pass) -> Iterator[HttpConnection]:
        """Yield a connection for a query; it is kept afterwards unless the query fails or the server closes it."""
        with self._lock:
            connection = self._kept.pop() if self._kept else HttpConnection(self.server, self._context)
        asking.hold(connection)
        try:
            yield connection
        except BaseException:
            connection.free()
            raise
        finally:
            asking.release(connection)
        if connection.is_open:
            with self._lock:
                self._kept.append(connection)
        else:
            connection.free()

    def close(self) -> None:
        """Close the kept connections."""
        for connection in self._kept:
            connection.free()
