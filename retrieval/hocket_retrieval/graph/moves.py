"""Local moves: who has changed goes where modularity gains most, who lived with it follows, until nobody gains."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable

from .network import Network

LEAST_GAIN = 1e-9


class Moves:
    """Moves in a network whose subgraphs have at most `limit` members; `new` makes the id of a subgraph."""

    def __init__(self, network: Network, limit: int, new: Callable[[], int]) -> None:
        self._network = network
        self._limit = limit
        self._small = limit * 3 // 8
        self.new = new
        self.touched: set[int] = set()  # subgraphs that somebody came to or left
        self.moved: set[int] = set()

    def settle(self, changed: Iterable[int]) -> None:
        """Find a place for these entities, and for all who gain by following, and leave no subgraph small for long."""
        queue = sorted(changed)
        while queue:
            visited = self._move(queue)
            merged = self._merge(visited)
            queue = sorted(merged.union(*(self._network.near[entity] for entity in merged)))

    def go(self, entity: int, there: int) -> None:
        """Let an entity live there."""
        here = self._network.home.get(entity)
        self._network.put(entity, there)
        self.moved.add(entity)
        self.touched |= {there} if here is None else {here, there}

    def _move(self, queue: Iterable[int]) -> set[int]:
        """Local moves, from these on; returns the subgraphs that anybody moved looked at is in."""
        network = self._network
        waiting = deque(queue)
        held = set(waiting)
        seen: set[int] = set()
        while waiting:
            entity = waiting.popleft()
            held.discard(entity)
            here = network.home.get(entity)
            there = self._best(entity)
            if there != here:
                followers = self._followers(entity, there) - held
                self.go(entity, there)
                held |= followers
                waiting.extend(sorted(followers))
            seen.add(there)
        return seen | self.touched

    def _followers(self, entity: int, there: int) -> set[int]:
        """Who may gain by following when an entity goes there: its partners, and who finds room where it was."""
        network = self._network
        here = network.home.get(entity)
        others = set(network.near[entity])
        if here is not None and len(network.members[here]) >= self._limit:
            others |= network.drawn_to(here)
        return {other for other in others if network.home.get(other, there) != there}

    def _best(self, entity: int) -> int:
        """Where an entity gains most; a new subgraph where it lives nowhere and has no partner with room."""
        network = self._network
        here = network.home.get(entity)
        weights = network.weights(entity)
        drawn = network.strength[entity] / max(network.total, 1)
        best, most = here, float("-inf")
        if here is not None:
            own = network.strengths[here] - network.strength[entity]
            most = weights.get(here, 0) - drawn * own + LEAST_GAIN
        for subgraph in sorted(weights, key=lambda each: (-weights[each], each)):
            weight = weights[subgraph]
            if weight <= most:  # no gain is larger than the weight
                break
            if subgraph != here and len(network.members[subgraph]) < self._limit:
                gain = weight - drawn * network.strengths[subgraph]
                if gain > most:
                    best, most = subgraph, gain + LEAST_GAIN
        return self.new() if best is None else best

    def _merge(self, subgraphs: Iterable[int]) -> set[int]:
        """Let small subgraphs go up in others; returns who moved."""
        moved: set[int] = set()
        for subgraph in sorted(subgraphs):
            members = sorted(self._network.members.get(subgraph, ()))
            if 0 < len(members) < self._small and (other := self._host(subgraph, members)) is not None:
                for entity in members:
                    self.go(entity, other)
                moved |= set(members)
        return moved

    def _host(self, subgraph: int, members: list[int]) -> int | None:
        """The subgraph with room that gains most by these members; of strangers only one that is small, too."""
        network = self._network
        weights: Counter[int] = Counter()
        for entity in members:
            weights.update(network.weights(entity))
        del weights[subgraph]
        drawn = network.strengths[subgraph] / max(network.total, 1)
        gains = {
            other: weight - drawn * network.strengths[other]
            for other, weight in weights.items()
            if len(network.members[other]) + len(members) <= self._limit
        }
        if gains:
            return max(gains, key=lambda other: (gains[other], -other))
        return None if weights else self._stranger(subgraph)

    def _stranger(self, subgraph: int) -> int | None:
        members = self._network.members
        small = (other for other, those in members.items() if other != subgraph and 0 < len(those) < self._small)
        return min(small, default=None)
