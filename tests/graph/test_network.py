"""Laws of the network, its partition, and its moves."""

import itertools
import random

import pytest

from hocket_retrieval.graph.moves import Moves
from hocket_retrieval.graph.network import Network
from hocket_retrieval.graph.partition import divide, gather

LIMIT = 8


def drawn(rng: random.Random) -> list[int]:
    """A chunk's entities, most of one of six circles."""
    peer_group = rng.randrange(6) * 12
    return [peer_group + rng.randrange(12) for _ in range(4)] + [rng.randrange(72)]


def related(entities: list[int]) -> list[tuple[int, int]]:
    """Pairs that some chunks relate, in any order, and more than once."""
    pairs = list(itertools.pairwise(entities)) if entities[0] % 2 else []
    return pairs + [(other, one) for one, other in pairs[:1]]


def made(chunks: dict[int, list[int]]) -> Network:
    network = Network()
    for entity in range(36):
        network.mark_name(entity)
    for chunk, entities in chunks.items():
        network.add(chunk, entities, related(entities))
    return network


def test_two_weigh_a_chunk_that_holds_them_once_and_one_that_relates_them_twice():
    """Wherever they wake or fall asleep; a term that one chunk relates to others sleeps all the same."""
    network = Network()
    network.mark_name(1)
    network.add(10, [1, 2, 3], [(2, 1), (1, 2)])
    assert network.near == {1: {}}
    network.add(11, [2, 1])
    assert (network.near, network.relations) == ({1: {2: 3}, 2: {1: 3}}, 1)
    network.remove(10)
    assert (network.near, network.total, network.relations) == ({1: {}}, 0, 0)


def modularity(network: Network) -> float:
    """By its definition."""
    total = sum(weight for near in network.near.values() for weight in near.values())
    inside = sum(
        weight
        for entity, near in network.near.items()
        for other, weight in near.items()
        if network.home[entity] == network.home[other]
    )
    strengths = [sum(sum(network.near[entity].values()) for entity in own) for own in network.members.values()]
    return inside / total - sum((each / total) ** 2 for each in strengths)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_after_many_changes_is_the_one_made_of_what_is_left(seed):
    """Weights, strengths, relations, who is awake, and the modularity of the partition that was kept."""
    rng = random.Random(seed)
    chunks = {number: drawn(rng) for number in range(120)}
    network, ids = made(chunks), itertools.count(1)
    divide(network, LIMIT, Moves(network, LIMIT, lambda: next(ids)))
    for number in range(200):
        if number % 2 and chunks:
            gone = rng.choice(list(chunks))
            network.remove(gone)
            del chunks[gone]
        else:
            chunks[1_000 + number] = drawn(rng)
            network.add(1_000 + number, chunks[1_000 + number], related(chunks[1_000 + number]))
    for entity in sorted(network.near.keys() - network.home.keys()):
        network.put(entity, next(ids))
    fresh = made(chunks)
    assert (network.near, network.strength, network.total) == (fresh.near, fresh.strength, fresh.total)
    assert network.relations == sum(map(len, fresh.near.values())) // 2
    assert network.home.keys() == network.near.keys()
    assert network.modularity == pytest.approx(modularity(network))


def gains(network: Network, entity: int) -> dict[int, float]:
    """What it would gain in each subgraph that has room, beside where it is."""
    here = network.home[entity]
    drawn = network.strength[entity] / network.total

    def gain(subgraph: int) -> float:
        own = network.strength[entity] if subgraph == here else 0
        return network.weights(entity).get(subgraph, 0) - drawn * (network.strengths[subgraph] - own)

    able = [other for other in network.weights(entity) if other != here and len(network.members[other]) < LIMIT]
    return {other: gain(other) - gain(here) for other in able}


@pytest.mark.parametrize("seed", range(3))
def test_nobody_gains_by_another_move_after_a_division(seed):
    """And no subgraph is too large, and no two that gain by it and have room go apart."""
    network, ids = made({number: drawn(random.Random(f"{seed} {number}")) for number in range(150)}), itertools.count(1)
    divide(network, LIMIT, Moves(network, LIMIT, lambda: next(ids)))
    assert network.home.keys() == network.near.keys()
    assert max(map(len, network.members.values())) <= LIMIT
    assert all(gain <= 1e-6 for entity in network.near for gain in gains(network, entity).values())


@pytest.mark.parametrize("seed", range(3))
def test_newcomers_move_none_but_those_who_gain(seed):
    """A later circle becomes a subgraph of its own; all others stay, and modularity is near a new division's."""
    network, ids = made({number: drawn(random.Random(f"{seed} {number}")) for number in range(150)}), itertools.count(1)
    divide(network, LIMIT, Moves(network, LIMIT, lambda: next(ids)))
    before = dict(network.home)
    newcomers = range(100, 106)
    for chunk in range(1_000, 1_003):
        network.add(chunk, newcomers)
    moves = Moves(network, LIMIT, lambda: next(ids))
    gather(network, newcomers, LIMIT, moves)
    moves.settle(newcomers)
    assert {entity: network.home[entity] for entity in before} == before
    assert len({network.home[entity] for entity in newcomers}) == 1
    lived = network.modularity
    divide(network, LIMIT, Moves(network, LIMIT, lambda: next(ids)))
    assert lived >= 0.95 * network.modularity


def circles(*groups: range) -> Network:
    """All of a group are named together three times, and there is a little between the groups."""
    network = Network()
    for entity in itertools.chain(*groups):
        network.mark_name(entity)
    pairs = [pair for group in groups for pair in itertools.combinations(group, 2)]
    for chunk, named in enumerate([*pairs * 3, *itertools.pairwise(group[0] for group in groups)]):
        network.add(chunk, named)
    return network


def test_two_who_live_in_each_others_full_subgraph_change_places():
    """Neither could go alone."""
    one, other = range(LIMIT), range(LIMIT, 2 * LIMIT)
    network = circles(one, other)
    for entity in (*one, *other):
        network.put(entity, 1 + (entity in other) if entity not in (3, LIMIT + 3) else 2 - (entity in other))
    assert set(map(len, network.members.values())) == {LIMIT}
    moves = Moves(network, LIMIT, lambda: pytest.fail("nobody needs a new subgraph"))
    moves.settle([3])
    assert (network.members[1], network.members[2]) == (set(one), set(other))
    assert moves.moved == {3, LIMIT + 3}


def test_a_subgraph_goes_whose_members_gain_elsewhere():
    """Each pair of it belongs to another circle, which it holds on to only together."""
    groups = [range(at, at + 6) for at in (0, 6, 12)]
    network = circles(*groups)
    strays = {pair for group in groups for pair in (group[-1], group[-2])}
    for entity in itertools.chain(*groups):
        network.put(entity, 9 if entity in strays else 1 + entity // 6)
    before = network.modularity
    Moves(network, LIMIT, itertools.count(20).__next__).settle(strays)
    assert sorted(map(sorted, network.members.values())) == [list(group) for group in groups]
    assert network.modularity > before


def test_a_term_sleeps_until_a_second_chunk_holds_it_and_a_name_does_not():
    """One that falls asleep again leaves its subgraph, and the others as if it had never been."""
    network = Network()
    network.mark_name(1)
    network.mark_name(2)
    network.add(10, [1, 2, 3])
    assert (network.near.keys(), network.relations) == ({1, 2}, 1)
    network.add(11, [3])
    assert (network.near[3], network.strength[1]) == ({1: 1, 2: 1}, 2)
    network.put(3, 5)
    network.remove(11)
    assert (network.near, network.members) == ({1: {2: 1}, 2: {1: 1}}, {})
