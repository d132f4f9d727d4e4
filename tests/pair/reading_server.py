"""A server of text that reads: it answers with what its prompt says of the thing that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from scripted_server import DONE, PLAIN, Scripted, Step, piece

from hocket_daemon.privacy.egress import read

FACT = re.compile(r"The code of the (\w+) gate is (\w+)")
UNKNOWN = "Nobody knows."


def passage(gate: str, code: str) -> str:
    return f"The code of the {gate} gate is {code}, as {code} clerks on {gate} street told {code} people of {gate}."


def question(gate: str) -> str:
    return f"Which code opens the {gate} gate?"


def prompt(server: Scripted) -> str:
    """All that the last request says to the model."""
    body = server.body
    return str(body["prompt"]) if "prompt" in body else "\n".join(turn["content"] for turn in body["messages"])


def reads(server: Scripted) -> Iterable[Step]:
    """The script: the code of the gate that the prompt asks for last, from where the prompt ends."""
    told, api = prompt(server), "chat" if "messages" in server.body else "completions"
    asked = re.findall(r"opens the (\w+) gate", told)[-1]
    answer = dict(FACT.findall(told)).get(asked, UNKNOWN)
    written = told.rpartition("Answer:")[2].strip() if api == "completions" else ""
    rest = answer.removeprefix(written)
    yield PLAIN
    for at in range(0, len(rest), 2):
        yield piece(rest[at : at + 2], api)
    yield piece("", api, "stop") + DONE


def sent(server: Scripted) -> int:
    """Bytes of all requests."""
    return sum(map(len, server.requests))


def texts(server: Scripted) -> str:
    """Every string in every request, as it was before JSON."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                walk(each)

    for request in server.requests:
        head, _, body = request.partition(b"\r\n\r\n")
        found.append(head.decode())
        walk(json.loads(body))
    return "\n".join(found)


def told_by_class(ledger: Path) -> dict[str, int]:
    """Bytes that a ledger has of a server on this machine."""
    sums: dict[str, int] = {}
    for entry in read(ledger):
        if entry.peer == "127.0.0.1":
            sums[entry.kind] = sums.get(entry.kind, 0) + entry.size_bytes
    return sums
