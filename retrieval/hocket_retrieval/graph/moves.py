"""Local moves: a changed entity goes where modularity gains most, and its partners may follow, until none gains.

Two entities may also change places, and a subgraph may be dissolved, where that gains enough for each subgraph that it
rewrites.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

from .network import Network

MIN_GAIN = 1e-9
WORTH = 1.2  # what such a change gains at least for each subgraph, in weight


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
        """Place these entities, and all that gain by following, and leave no subgraph small for long."""
        queue = sorted(changed)
        while queue:
            visited = self._move(queue)
            merged = self._merge(visited) | self._dissolve(visited)
            queue = sorted(merged.union(*(self._network.near[entity] for entity in merged)))

    def go(self, entity: int, there: int) -> None:
        """Move an entity to the subgraph `there`."""
        here = self._network.home.get(entity)
        self._network.put(entity, there)
        self.moved.add(entity)
        self.touched |= {there} if here is None else {here, there}

    def _move(self, queue: Iterable[int]) -> set[int]:
        """Make local moves, from these entities on; return the subgraphs that the visited ones are in, or were."""
        network = self._network
        waiting = deque(queue)
        held = set(waiting)
        seen: set[int] = set()
        while waiting:
            entity = waiting.popleft()
            held.discard(entity)
            for one, there in self._going(entity):
                seen |= {there, network.home.get(one, there)}
                followers = self._followers(one, there) - held
                self.go(one, there)
                held |= followers
                waiting.extend(sorted(followers))
            seen.add(network.home[entity])
        return seen

    def _going(self, entity: int) -> list[tuple[int, int]]:
        """Return the moves, (entity, subgraph), by which an entity gains; empty where it cannot."""
        here, weights = self._network.home.get(entity), self._network.weights(entity)
        there = self._best(entity, weights)
        if there != here:
            return [(entity, there)]
        return self._exchange(entity, weights)

    def _followers(self, entity: int, there: int) -> set[int]:
        """Return who may gain once an entity goes there: its partners, and those that find room where it was."""
        network = self._network
        here = network.home.get(entity)
        others = set(network.near[entity])
        if here is not None and len(network.members[here]) >= self._limit:
            others |= network.drawn_to(here)
        return {other for other in others if network.home.get(other, there) != there}

    def _best(self, entity: int, weights: Mapping[int, int]) -> int:
        """Return the subgraph where an entity gains most; a new one where it has none and no partner's has room."""
        network = self._network
        here = network.home.get(entity)
        drawn = network.strength[entity] / max(network.total, 1)
        best, maximum = here, float("-inf")
        if here is not None:
            own = network.strengths[here] - network.strength[entity]
            maximum = weights.get(here, 0) - drawn * own + MIN_GAIN
        for subgraph in sorted(weights, key=lambda each: (-weights[each], each)):
            weight = weights[subgraph]
            if weight <= maximum:  # no gain is larger than the weight
                break
            if subgraph != here and len(network.members[subgraph]) < self._limit:
                gain = weight - drawn * network.strengths[subgraph]
                if gain > maximum:
                    best, maximum = subgraph, gain + MIN_GAIN
        return self.new() if best is None else best

    def _exchange(self, entity: int, weights: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return the moves by which an entity gains in exchange with a member of a full subgraph; empty if none."""
        network = self._network
        here = network.home[entity]
        for there in sorted(weights, key=lambda each: (-weights[each], each)):
            gain = self._gain(entity, there, weights)
            if there == here or gain <= WORTH:
                break
            if len(network.members[there]) == self._limit:
                gains = {other: gain + self._back(other, here, entity) for other in sorted(network.members[there])}
                best = max(gains, key=lambda other: (gains[other], -other))
                if gains[best] > 2 * WORTH:
                    return [(entity, there), (best, here)]
        return []

    def _back(self, other: int, here: int, entity: int) -> float:
        """Return what `other` gains by going `here`, which `entity` has left to take its place."""
        network = self._network
        apart = network.strength[entity] * network.strength[other] / network.total
        return self._gain(other, here, network.weights(other)) - 2 * (network.near[entity].get(other, 0) - apart)

    def _gain(self, entity: int, there: int, weights: Mapping[int, int]) -> float:
        """Return what a move gains in weight; the gain in modularity is twice that, over the total."""
        network = self._network
        here, strength = network.home[entity], network.strength[entity]
        spread = network.strengths[there] - network.strengths[here] + strength
        return weights.get(there, 0) - weights.get(here, 0) - strength / network.total * spread

    def _dissolve(self, subgraphs: Iterable[int]) -> set[int]:
        """Dissolve subgraphs whose members gain by joining others, one by one; return those that moved."""
        moved: set[int] = set()
        for subgraph in sorted(subgraphs):
            members = sorted(self._network.members.get(subgraph, ()))
            if members and self._scattered(subgraph, members):
                self.touched |= {subgraph, *(self._network.home[entity] for entity in members)}
                moved |= set(members)
        self.moved |= moved
        return moved

    def _scattered(self, subgraph: int, members: list[int]) -> bool:
        """Move all members elsewhere, most weight outside first; tell whether that is worth it, or else undo it."""
        network, gained = self._network, 0.0
        outside = {entity: network.strength[entity] - network.weight_to(entity, subgraph) for entity in members}
        for entity in sorted(members, key=lambda each: (-outside[each], each)):
            weights = network.weights(entity)
            gains = {
                at: self._gain(entity, at, weights)
                for at in weights
                if at != subgraph and len(network.members[at]) < self._limit
            }
            if not gains:
                break
            there = max(gains, key=lambda at: (gains[at], -at))
            gained += gains[there]
            network.put(entity, there)
        changed = {subgraph, *(network.home[entity] for entity in members)}
        scattered = subgraph not in network.members and gained > WORTH * len(changed)
        for entity in members if not scattered else ():
            network.put(entity, subgraph)
        return scattered

    def _merge(self, subgraphs: Iterable[int]) -> set[int]:
        """Merge small subgraphs into others; return the entities that moved."""
        moved: set[int] = set()
        for subgraph in sorted(subgraphs):
            members = sorted(self._network.members.get(subgraph, ()))
            if 0 < len(members) < self._small and (other := self._host(subgraph, members)) is not None:
                for entity in members:
                    self.go(entity, other)
                moved |= set(members)
        return moved

    def _host(self, subgraph: int, members: list[int]) -> int | None:
        """Return the subgraph with room that gains most by these members; without partners there, a small one."""
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
