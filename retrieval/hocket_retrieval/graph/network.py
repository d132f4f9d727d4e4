"""Which entities are named together, and in which subgraph each lives; in memory, and made anew from the mentions.

Two entities weigh as much to each other as there are chunks that hold both. The modularity of a partition is the share
of weight within subgraphs less what it would be if partners were drawn by strength alone (Newman and Girvan, 2004).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations


class Network:
    """Entities by id; those that no chunk names any more are not in it."""

    def __init__(self) -> None:
        self.near: dict[int, dict[int, int]] = {}
        self.strength: dict[int, int] = {}
        self.home: dict[int, int] = {}
        self.members: defaultdict[int, set[int]] = defaultdict(set)
        self.strengths: defaultdict[int, int] = defaultdict(int)  # of subgraphs: the sum of their members'
        self._chunks: dict[int, tuple[int, ...]] = {}
        self._inside = 0  # twice the weight within subgraphs
        self.total = 0  # twice the weight
        self.relations = 0

    def add(self, chunk: int, entities: Iterable[int]) -> None:
        """A chunk names these entities."""
        named = tuple(sorted(set(entities)))
        self._chunks[chunk] = named
        for entity in named:
            if entity not in self.near:
                self.near[entity], self.strength[entity] = {}, 0
        for one, other in combinations(named, 2):
            self._weigh(one, other, 1)

    def remove(self, chunk: int) -> None:
        """The chunk is gone; nothing happens where it never was."""
        for one, other in combinations(self._chunks.pop(chunk, ()), 2):
            self._weigh(one, other, -1)

    def forget(self, entity: int) -> None:
        """No chunk names this entity any more. Needs its chunks removed."""
        self.leave(entity)
        self.near.pop(entity, None)
        self.strength.pop(entity, None)

    def put(self, entity: int, subgraph: int) -> None:
        """Let an entity live in a subgraph, wherever it lived before."""
        self.leave(entity)
        self.home[entity] = subgraph
        self.members[subgraph].add(entity)
        self.strengths[subgraph] += self.strength[entity]
        self._inside += 2 * self.weight_to(entity, subgraph)

    def leave(self, entity: int) -> None:
        """Let an entity live nowhere."""
        if (subgraph := self.home.get(entity)) is None:
            return
        self._inside -= 2 * self.weight_to(entity, subgraph)
        del self.home[entity]
        self.members[subgraph].discard(entity)
        self.strengths[subgraph] -= self.strength[entity]
        if not self.members[subgraph]:
            del self.members[subgraph], self.strengths[subgraph]

    def weight_to(self, entity: int, subgraph: int) -> int:
        """What an entity weighs to the others of a subgraph."""
        home = self.home
        return sum(weight for other, weight in self.near[entity].items() if home.get(other) == subgraph)

    def weights(self, entity: int) -> Mapping[int, int]:
        """What an entity weighs to each subgraph that it has partners in."""
        found: defaultdict[int, int] = defaultdict(int)
        for other, weight in self.near[entity].items():
            if (subgraph := self.home.get(other)) is not None:
                found[subgraph] += weight
        return found

    @property
    def modularity(self) -> float:
        """Of the partition as it is; 0 where nothing is named together."""
        if not self.total:
            return 0.0
        spread = sum((strength / self.total) ** 2 for strength in self.strengths.values())
        return self._inside / self.total - spread

    def _weigh(self, one: int, other: int, change: int) -> None:
        for entity, partner in ((one, other), (other, one)):
            near = self.near[entity]
            was = near.get(partner, 0)
            self.relations += (not was) * (entity < partner)
            near[partner] = was + change
            if not near[partner]:
                del near[partner]
                self.relations -= entity < partner
            self.strength[entity] += change
            if (subgraph := self.home.get(entity)) is not None:
                self.strengths[subgraph] += change
        if one in self.home and self.home.get(one) == self.home.get(other):
            self._inside += 2 * change
        self.total += 2 * change
