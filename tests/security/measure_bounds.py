"""Measure statuses, bytes, seconds and memory of a running pair under attacks by people, files and programs, as JSON.

    python tests/security/measure_bounds.py

The pair is started by `hocket up --serve` with the bundled models, in a folder of its own. As root, another user of
this machine asks, too.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote

import httpx2

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]

from ports import free_port  # noqa: E402
from processes import resident_bytes  # noqa: E402

HOCKET = Path(sys.executable).with_name("hocket")
MB = 1e6
OTHER_USER = 65533
LONG_S = 1_800.0
SETTLE_S = 20.0
ROWS = 50_000
HTML_BYTES = 2_800_000
HTML = {
    "nested elements": "<div>",
    "formatting elements that are not closed": "<b><p>",
    "tables in tables": "<table><tr><td>",
    "comments that are not closed": "<!--",
    "attributes": "<p a b=1 c d=2>",
    "links in links": "<a href=x><i>",
}


class Pair:
    """A pair that runs, with its gateway."""

    def __init__(self, home: Path) -> None:
        self.home, self.port = home, free_port()
        self._hocket("up", "--serve", "--port", str(self.port))
        daemons = json.loads(self._hocket("status", "--json"))["daemons"]
        self.pids = {each["name"]: int(each["pid"]) for each in daemons}
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=LONG_S)

    def close(self) -> None:
        self.http.close()
        self._hocket("down")

    def put(self, name: str, content: bytes) -> httpx2.Response:
        return self.http.put(f"/documents/{quote(name)}", content=content)

    def remove(self, name: str) -> httpx2.Response:
        return self.http.delete(f"/documents/{quote(name, safe='')}")

    def passages(self) -> int:
        return sum(each["passages"] for each in self.http.get("/documents").json()["documents"])

    def _hocket(self, *arguments: str) -> str:
        command = [str(HOCKET), *arguments, "--home", str(self.home)]
        environment = os.environ | {"HOCKET_MODELS": str(self.home / "models")}
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def main() -> None:
    """Measure one after the other, and print."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder, ExitStack() as stack:
        pair = Pair(Path(folder))
        stack.callback(pair.close)
        figures: dict[str, object] = {}
        for measure in (another_user, stored_responses, hostile_html, unread_answers, many_passages):
            figures[measure.__name__] = measure(pair)
            print(measure.__name__, figures[measure.__name__], file=sys.stderr, flush=True)
        print(json.dumps(figures, indent=1))


def another_user(pair: Pair) -> object:
    """Return the statuses that another user of this machine gets."""
    if os.getuid():
        return "needs root"
    code = (
        "import sys, http.client\n"
        "for method, path in ('PUT', '/watched/%2Ftmp'), ('GET', '/documents'), ('POST', '/v1/chat/completions'):\n"
        "    there = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=60)\n"
        "    there.request(method, path, headers={'Content-Length': '0'})\n"
        "    print(there.getresponse().status)\n"
    )
    command = ["/usr/bin/env", "python3", "-I", "-c", code, str(pair.port)]
    done = subprocess.run(
        command, check=False, user=OTHER_USER, group=OTHER_USER, extra_groups=[], stdout=subprocess.PIPE, text=True
    )
    return done.stdout.split()


def stored_responses(pair: Pair) -> object:
    """Measure the file of responses behind 30 requests with 3.7 MB of metadata, and 200 with long conversations."""
    file = pair.home / "serve-responses.db"
    asked: dict[str, object] = {"model": "hocket-alone", "max_output_tokens": 1}
    large = asked | {"input": "kala?", "metadata": {"a": "x" * 3_700_000}}
    said = [{"role": role, "content": "kala " * 1_500} for _ in range(15) for role in ("user", "assistant")]
    allowed = asked | {"input": [*said, {"role": "user", "content": "kala?"}]}
    statuses = Counter(pair.http.post("/v1/responses", json=large).status_code for _ in range(30))
    kept = file.stat().st_size
    more = Counter(pair.http.post("/v1/responses", json=allowed).status_code for _ in range(200))
    return {
        "metadata": statuses,
        "mb after": kept / MB,
        "conversations": more,
        "mb after these": file.stat().st_size / MB,
    }


def hostile_html(pair: Pair) -> object:
    """Measure the seconds until a page of HTML_BYTES is read or refused."""
    found = {}
    for name, piece in HTML.items():
        page = (piece * (HTML_BYTES // len(piece) + 1))[:HTML_BYTES].encode()
        took_s, answer = timed(lambda page=page: pair.put("page.html", page))  # type: ignore[misc]
        found[name] = {"s": round(took_s, 1), "status": answer.status_code}
        if answer.status_code < 300:
            pair.remove(answer.json()["name"])
    return found


def unread_answers(pair: Pair) -> object:
    """Measure the gateway's memory while 200 connections ask for a long document and read nothing."""
    line = "The heron {} stands in the marsh at dawn, {} steps from the reeds.\n"
    name = pair.put("long.txt", "".join(line.format(n, n % 7) for n in range(30_000)).encode()).json()["name"]
    pid = pair.pids["serve"]
    request = f"GET /documents/{quote(name, safe='')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    before = resident_bytes(pid)
    with most_resident(pid) as most, ExitStack() as stack:
        for _ in range(200):
            there = stack.enter_context(socket.create_connection(("127.0.0.1", pair.port), 60))
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            there.sendall(request)
        time.sleep(SETTLE_S)
    pair.remove(name)
    return {"mb before": before / MB, "mb at most": most[0] / MB}


def many_passages(pair: Pair) -> object:
    """Measure the retrieval daemon's memory around the ingestion of a table of ROWS, and its removal."""
    rows = "".join(f"shelf {n};heron {n * 7 % 9973};{n * 31 % 1009} steps from the reeds\n" for n in range(ROWS))
    pid = pair.pids["device-retrieval"]
    pair.http.get("/documents")
    before = resident_bytes(pid)
    with most_resident(pid) as most:
        took_s, answer = timed(lambda: pair.put("shelves.csv", f"place;bird;distance\n{rows}".encode()))
    name, passages = answer.json()["name"], pair.passages()
    time.sleep(SETTLE_S)
    after = resident_bytes(pid)
    removed_s, removed = timed(lambda: pair.remove(name))
    gone_s, _ = timed(lambda: wait_until(lambda: pair.passages() == 0))
    return {
        "passages": passages,
        "ingested s": took_s,
        "mb before": before / MB,
        "mb at most": most[0] / MB,
        "mb after": after / MB,
        "removal": removed.status_code,
        "removal s": removed_s,
        "gone s later": gone_s,
        "file stays": Path(name).exists(),
    }


@contextmanager
def most_resident(pid: int) -> Iterator[list[int]]:
    """Hold the largest memory seen of a process, in bytes."""
    most, over = [resident_bytes(pid)], Event()

    def watch() -> None:
        while not over.wait(0.05):
            most[0] = max(most[0], resident_bytes(pid))

    watching = Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()


def timed(act: Callable[[], httpx2.Response | None]) -> tuple[float, httpx2.Response]:
    began_s = time.monotonic()
    result = act()
    return time.monotonic() - began_s, result  # type: ignore[return-value]


def wait_until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + LONG_S
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
