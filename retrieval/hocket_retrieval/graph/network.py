"""The network of entities that are named together, with the subgraph of each; in memory, rebuilt from the mentions.

A term that one chunk alone holds is asleep: it is in no subgraph and weighs nothing until another chunk holds it, too.
Two entities weigh as much to each other as there are chunks that hold both; one that relates them to each other, as an
engine says, counts twice.

The modularity of a partition is the share of weight within subgraphs less what it would be if partners were drawn by
strength alone (Newman and Girvan, 2004).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

WAKES_A_TERM = 2  # chunks


class Network:
    """Entities by id; `near` has the weights between those that are awake."""

    def __init__(self) -> None:
        self.near: dict[int, dict[int, int]] = {}
        self.strength: dict[int, int] = {}
        self.home: dict[int, int] = {}
        self.members: defaultdict[int, set[int]] = defaultdict(set)
        self.strengths: defaultdict[int, int] = defaultdict(int)  # of subgraphs: the sum of their members'
        self.total = 0  # twice the weight
        self.relations = 0
        self._names: set[int] = set()
        self._named: dict[int, tuple[int, ...]] = {}
        self._related: dict[int, frozenset[tuple[int, int]]] = {}
        self._chunks: defaultdict[int, set[int]] = defaultdict(set)
        self._inside = 0  # twice the weight within subgraphs

    def mark_name(self, entity: int) -> None:
        """Mark an entity as a name, for which one chunk is enough."""
        self._names.add(entity)

    def add(self, chunk: int, entities: Iterable[int], related: Iterable[tuple[int, int]] = ()) -> None:
        """Add a chunk that names these entities, and relates these pairs of them to each other."""
        named = self._named[chunk] = tuple(sorted(set(entities)))
        if pairs := frozenset((min(pair), max(pair)) for pair in related if pair[0] != pair[1]):
            self._related[chunk] = pairs
        for entity in named:
            if entity not in self.near and len(self._chunks[entity]) + 1 >= self._wakes(entity):
                self._wake(entity)
            self._chunks[entity].add(chunk)
        self._pair(chunk, 1)

    def remove(self, chunk: int) -> None:
        """Remove a chunk; nothing happens where it was never added."""
        self._pair(chunk, -1)
        self._related.pop(chunk, None)
        for entity in self._named.pop(chunk, ()):
            self._chunks[entity].discard(chunk)
            if entity in self.near and len(self._chunks[entity]) < self._wakes(entity):
                self._sleep(entity)
            if not self._chunks[entity]:
                del self._chunks[entity]

    def beside(self, entity: int) -> set[int]:
        """Return all awake entities in the chunks that name this one, itself too."""
        return {other for chunk in self._chunks.get(entity, ()) for other in self._awake_in(chunk)}

    def put(self, entity: int, subgraph: int) -> None:
        """Put an entity into a subgraph, wherever it was before."""
        self.leave(entity)
        self.home[entity] = subgraph
        self.members[subgraph].add(entity)
        self.strengths[subgraph] += self.strength[entity]
        self._inside += 2 * self.weight_to(entity, subgraph)

    def leave(self, entity: int) -> None:
        """Take an entity out of its subgraph."""
        if (subgraph := self.home.get(entity)) is None:
            return
        self._inside -= 2 * self.weight_to(entity, subgraph)
        del self.home[entity]
        self.members[subgraph].discard(entity)
        self.strengths[subgraph] -= self.strength[entity]
        if not self.members[subgraph]:
            del self.members[subgraph], self.strengths[subgraph]

    def weight_to(self, entity: int, subgraph: int) -> int:
        """Return the weight between an entity and the other members of a subgraph."""
        near, members = self.near[entity], self.members[subgraph]
        return sum(near[other] for other in near.keys() & members)

    def weights(self, entity: int) -> Mapping[int, int]:
        """Return the weight between an entity and each subgraph that has partners of it."""
        found: defaultdict[int, int] = defaultdict(int)
        home = self.home
        for other, weight in self.near[entity].items():
            if other in home:
                found[home[other]] += weight
        return found

    def drawn_to(self, subgraph: int) -> set[int]:
        """Return all entities outside a subgraph that have partners in it."""
        members = self.members[subgraph]
        return {other for entity in members for other in self.near[entity]} - members

    @property
    def modularity(self) -> float:
        """Return the modularity of the current partition; 0 where no entities are named together."""
        if not self.total:
            return 0.0
        spread = sum((strength / self.total) ** 2 for strength in self.strengths.values())
        return self._inside / self.total - spread

    def _wakes(self, entity: int) -> int:
        return 1 if entity in self._names else WAKES_A_TERM

    def _awake_in(self, chunk: int) -> list[int]:
        return [entity for entity in self._named.get(chunk, ()) if entity in self.near]

    def _wake(self, entity: int) -> None:
        """Wake an entity, and give it the weights of its earlier chunks."""
        self.near[entity], self.strength[entity] = {}, 0
        for chunk in self._chunks[entity]:
            self._link(entity, self._partners(entity, chunk), 1)

    def _sleep(self, entity: int) -> None:
        self.leave(entity)
        for chunk in self._chunks[entity]:
            self._link(entity, self._partners(entity, chunk), -1)
        del self.near[entity], self.strength[entity]

    def _partners(self, entity: int, chunk: int) -> list[int]:
        """Return the other awake entities in a chunk that names this one; those related to it there come twice."""
        beside = [other for other in self._awake_in(chunk) if other != entity]
        related = {other for pair in self._related.get(chunk, ()) if entity in pair for other in pair}
        return [*beside, *(other for other in beside if other in related)]

    def _pair(self, chunk: int, change: int) -> None:
        entities = self._awake_in(chunk)
        for at, entity in enumerate(entities):
            self._link(entity, entities[at + 1 :], change)
        for one, other in self._related.get(chunk, ()):
            if one in self.near and other in self.near:
                self._link(one, (other,), change)

    def _link(self, one: int, others: Iterable[int], change: int) -> None:
        """Change the weight between an entity and each other one, for each time that the other is listed."""
        near, home, count = self.near, self.home, 0
        own, here = near[one], self.home.get(one)
        for other in others:
            count += 1
            weight = own.get(other, 0) + change
            if weight:
                own[other] = near[other][one] = weight
            else:
                del own[other], near[other][one]
            self.relations += (weight == change > 0) - (not weight)
            self.strength[other] += change
            if (there := home.get(other)) is not None:
                self.strengths[there] += change
                self._inside += 2 * change * (there == here)
        self.strength[one] += change * count
        if here is not None:
            self.strengths[here] += change * count
        self.total += 2 * change * count
