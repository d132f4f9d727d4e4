"""A network cut into subgraphs by Leiden (Traag, Waltman and van Eck, 2019), none of them too large."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from .moves import Moves
from .network import Network

SEED = 1

Groups = list[list[int]]


def divide(network: Network, limit: int, moves: Moves) -> None:
    """Put every entity into a subgraph, anew; a subgraph that is much like an earlier one keeps its id."""
    groups = _groups(network, limit)
    for subgraph, group in zip(_subgraph_ids(groups, network.home), groups, strict=True):
        at = moves.new() if subgraph is None else subgraph
        for entity in group:
            moves.go(entity, at)
    before: dict[int, int] = {}
    while before != network.home:  # what all gain by depends on all a little, and moves look at partners only
        before = dict(network.home)
        moves.settle(network.near)


def gather(network: Network, entities: Iterable[int], limit: int, moves: Moves) -> None:
    """Put entities that have no subgraph, and are linked to each other, into new subgraphs."""
    for group in sorted(_cut(network, [entity for entity in entities if entity not in network.home], limit)):
        if len(group) > 1:
            at = moves.new()
            for entity in group:
                moves.go(entity, at)


def _groups(network: Network, limit: int) -> Groups:
    groups = sorted(_cut(network, network.near, limit))
    alone = [group for group in groups if len(group) < limit * 3 // 8 and not _has_links(network, group)]
    return [group for group in groups if group not in alone] + _packed(alone, limit)


def _subgraph_ids(groups: Groups, home: Mapping[int, int]) -> list[int | None]:
    """Return for each group the subgraph that most of its members were in, each used once; None for a new one."""
    shared = Counter((home[entity], at) for at, group in enumerate(groups) for entity in group if entity in home)
    ids: list[int | None] = [None] * len(groups)
    taken: set[int] = set()
    for (subgraph, at), _ in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0])):
        if ids[at] is None and subgraph not in taken:
            ids[at] = subgraph
            taken.add(subgraph)
    return ids


def _cut(network: Network, entities: Collection[int], limit: int) -> Groups:
    """Return these entities in groups of at most `limit`; larger ones are cut by the links within them."""
    done: Groups = []
    left = [_communities(network, entities)]
    while left:
        for group in left.pop():
            if len(group) <= limit:
                done.append(group)
                continue
            parts = _communities(network, group)
            left.append(parts if len(parts) > 1 else _halves(network, group))
    return done


def _has_links(network: Network, group: list[int]) -> bool:
    """Tell whether a member is named together with an entity outside the group."""
    inside = set(group)
    return any(other not in inside for entity in group for other in network.near[entity])


def _packed(groups: Groups, limit: int) -> Groups:
    """Join groups that have no links to others, as long as they have at most `limit` members."""
    packed: Groups = []
    for group in groups:
        if packed and len(packed[-1]) + len(group) <= limit:
            packed[-1] += group
        else:
            packed.append(list(group))
    return packed


def _communities(network: Network, entities: Collection[int]) -> Groups:
    import graspologic_native

    order = sorted(entities)
    place = {entity: at for at, entity in enumerate(order)}
    links = [
        [(place[other], weight) for other, weight in network.near[each].items() if other in place] for each in order
    ]
    if not any(links):
        return [[entity] for entity in order]
    flat = [link for row in links for link in sorted(row)]
    indptr = np.cumsum([0, *map(len, links)], dtype=np.int64)
    indices = np.array([at for at, _ in flat], dtype=np.int32)
    weights = np.array([weight for _, weight in flat], dtype=np.float64)
    _, found = graspologic_native.leiden_csr(indptr, indices, weights, len(order), seed=SEED)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for entity, row in zip(order, links, strict=True):
        groups[found[place[entity]] if row else -1 - entity].append(entity)
    return list(groups.values())


def _halves(network: Network, group: list[int]) -> Groups:
    """Cut a group that Leiden cannot divide: one half, grown from its strongest member, and the rest."""
    inside = set(group)
    pull = dict.fromkeys(group, 0.0)
    one: list[int] = []
    while len(one) < len(group) // 2:
        entity = max(pull, key=lambda each: (pull[each], network.strength[each], -each))
        del pull[entity]
        one.append(entity)
        for other, weight in _within(network, entity, inside):
            if other in pull:
                pull[other] += weight
    return [sorted(one), sorted(inside - set(one))]


def _within(network: Network, entity: int, inside: set[int]) -> Iterable[tuple[int, int]]:
    return ((other, weight) for other, weight in network.near[entity].items() if other in inside)
