"""The cloud's relay between devices of a group: it tells who is there, and passes on sealed envelopes.

It cannot open them. It sees who speaks to whom, when, and how much; an envelope goes to devices of the sender's groups
alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from hocket_bus.errors import HocketError
from hocket_bus.messages import (
    FindMembers,
    FoundMember,
    Match,
    Matched,
    Matching,
    MembersFound,
    Sealed,
    Unreached,
)
from hocket_bus.sockets import Gone, Greeted, Received, Routes, Server

from ..monitoring.counters import Counters
from ..serving.search.retrieval import RetrievalClient
from .members import Members

NOT_OTHER = "is not another device of your group"  # whether it is anybody's is none of the asker's business
NO_GROUP = "your group has no other device: see [federation] groups on the cloud"


class Relay:
    """The relay of sealed envelopes from one device to another."""

    def __init__(self, members: Members, server: Server, retrieval: RetrievalClient, counters: Counters) -> None:
        self._members, self._server = members, server
        self._retrieval, self._counters = retrieval, counters
        self._keys: dict[bytes, bytes] = {}  # of connected devices, by route: for what is sealed for them

    def add_to(self, routes: Routes) -> None:
        """Register the handlers for devices' messages."""
        routes.add([FindMembers], self._on_find)
        routes.add([Sealed], self._on_sealed)

    def on_end(self, event: Greeted | Gone) -> None:
        """Handle a device that has connected, or has gone."""
        if isinstance(event, Gone):
            self._keys.pop(event.route, None)
        elif event.hello.sealing_key:
            self._keys[event.route] = event.hello.sealing_key

    def _name(self, event: Received) -> str:
        return event.user or self._members.name_at(event.route)

    def _on_find(self, event: Received) -> None:
        asked = event.message
        assert isinstance(asked, FindMembers)
        others = self._members.others(self._name(event))
        if asked.names:
            strange = [f"{name} {NOT_OTHER}" for name in asked.names if name not in others]
            named = [Matching(device=name, subgraph=0, score=0.0) for name in asked.names if name in others]
            self._send_found(event.route, asked, named, strange)
        elif not others:
            self._send_found(event.route, asked, [], [NO_GROUP])
        else:
            match = Match(request=os.urandom(16), query=asked.query, devices=sorted(others))
            self._retrieval.lookups(event.user).ask(match, partial(self._on_matched, event.route, asked))

    def _on_matched(self, route: bytes, asked: FindMembers, outcome: Matched | HocketError) -> None:
        if isinstance(outcome, HocketError):
            self._send_found(route, asked, [], [f"the devices' summaries cannot be searched: {outcome.text}"])
        else:
            best = {match.device: match for match in reversed(outcome.matches)}  # the first of each device is its best
            ranked = [best[name] for name in dict.fromkeys(match.device for match in outcome.matches)]
            self._send_found(route, asked, ranked, [])

    def _send_found(self, route: bytes, asked: FindMembers, ranked: Sequence[Matching], notices: Sequence[str]) -> None:
        """Send the first of these devices that are there, with a notice for each that is not."""
        found, why_not = list[FoundMember](), list(notices)
        for match in ranked:
            if len(found) == asked.most:
                break
            there = self._members.route_of(match.device)
            if there is None:
                why_not.append(f"{match.device} {self._members.why_not(match.device)}")
            elif there not in self._keys:
                why_not.append(f"{match.device} has no encryption key")
            else:
                rtt_s = self._server.rtt_s(route) + self._server.rtt_s(there)
                found.append(
                    FoundMember(
                        name=match.device,
                        key=self._keys[there],
                        rtt_s=rtt_s,
                        subgraph=match.subgraph,
                        score=match.score,
                    )
                )
        self._server.send(route, MembersFound(session=asked.session, members=found, notices=why_not[: 2 * asked.most]))

    def _on_sealed(self, event: Received) -> None:
        envelope = event.message
        assert isinstance(envelope, Sealed)
        sender = self._name(event)
        self._members.back(event.route)
        is_other = envelope.member in self._members.others(sender)
        there = self._members.route_of(envelope.member) if is_other else None
        if there is None:
            why = self._members.why_not(envelope.member) if is_other else NOT_OTHER
            self._server.send(event.route, Unreached(session=envelope.session, member=envelope.member, why=why))
            return
        self._counters.add("sealed_boxes_total")
        self._counters.add("sealed_bytes_total", len(envelope.payload))
        self._server.send(there, Sealed(session=envelope.session, member=sender, payload=envelope.payload))
