"""Which entities are named together, and in which subgraph each lives; in memory, and made anew from the mentions.

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
    """Entities by id, and those that are awake in `near`, with what they weigh to each other."""

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
        """This one is a name: one chunk is enough for it."""
        self._names.add(entity)

    def add(self, chunk: int, entities: Iterable[int], related: Iterable[tuple[int, int]] = ()) -> None:
        """A chunk names these entities, and relates these pairs of them to each other."""
        named = self._named[chunk] = tuple(sorted(set(entities)))
        if pairs := frozenset((min(pair), max(pair)) for pair in related if pair[0] != pair[1]):
            self._related[chunk] = pairs
        for entity in named:
            if entity not in self.near and len(self._chunks[entity]) + 1 >= self._wakes(entity):
                self._wake(entity)
            self._chunks[entity].add(chunk)
        self._pair(chunk, 1)

    def remove(self, chunk: int) -> None:
        """The chunk is gone; nothing happens where it never was."""
        self._pair(chunk, -1)
        self._related.pop(chunk, None)
        for entity in self._named.pop(chunk, ()):
            self._chunks[entity].discard(chunk)
            if entity in self.near and len(self._chunks[entity]) < self._wakes(entity):
                self._sleep(entity)
            if not self._chunks[entity]:
                del self._chunks[entity]

    def beside(self, entity: int) -> set[int]:
        """All who are awake in a chunk that names it, itself too."""
        return {other for chunk in self._chunks.get(entity, ()) for other in self._awake_clock(chunk)}

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
        near, members = self.near[entity], self.members[subgraph]
        return sum(near[other] for other in near.keys() & members)

    def weights(self, entity: int) -> Mapping[int, int]:
        """What an entity weighs to each subgraph that it has partners in."""
        found: defaultdict[int, int] = defaultdict(int)
        home = self.home
        for other, weight in self.near[entity].items():
            if other in home:
                found[home[other]] += weight
        return found

    def drawn_to(self, subgraph: int) -> set[int]:
        """All who have partners in a subgraph and live elsewhere."""
        members = self.members[subgraph]
        return {other for entity in members for other in self.near[entity]} - members

    @property
    def modularity(self) -> float:
        """Of the partition as it is; 0 where nothing is named together."""
        if not self.total:
            return 0.0
        spread = sum((strength / self.total) ** 2 for strength in self.strengths.values())
        return self._inside / self.total - spread

    def _wakes(self, entity: int) -> int:
        return 1 if entity in self._names else WAKES_A_TERM

    def _awake_clock(self, chunk: int) -> list[int]:
        return [entity for entity in self._named.get(chunk, ()) if entity in self.near]

    def _wake(self, entity: int) -> None:
        """It weighs what its earlier chunks say."""
        self.near[entity], self.strength[entity] = {}, 0
        for chunk in self._chunks[entity]:
            self._link(entity, self._partners(entity, chunk), 1)

    def _sleep(self, entity: int) -> None:
        self.leave(entity)
        for chunk in self._chunks[entity]:
            self._link(entity, self._partners(entity, chunk), -1)
        del self.near[entity], self.strength[entity]

    def _partners(self, entity: int, chunk: int) -> list[int]:
        """All others who are awake in a chunk that names it; those whom the chunk relates to it come twice."""
        beside = [other for other in self._awake_clock(chunk) if other != entity]
        related = {other for pair in self._related.get(chunk, ()) if entity in pair for other in pair}
        return [*beside, *(other for other in beside if other in related)]

    def _pair(self, chunk: int, change: int) -> None:
        entities = self._awake_clock(chunk)
        for at, entity in enumerate(entities):
            self._link(entity, entities[at + 1 :], change)
        for one, other in self._related.get(chunk, ()):
            if one in self.near and other in self.near:
                self._link(one, (other,), change)

    def _link(self, one: int, others: Iterable[int], change: int) -> None:
        """Change what an entity weighs to others, for each time that one is given."""
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
