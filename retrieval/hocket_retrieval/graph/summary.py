"""What is said of a subgraph: its names, its topics, and who is named together most, each in alphabetical order.

The order, and a fixed number of each, keep the text as it is while ranks change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .extract import is_name
from .network import Network
from .tables import Said

MAX_CHARS = 4_000
RELATIONS = 8
MIN_WEIGHT = 2  # chunks that hold both ends of a relation


def summary(said: Sequence[Said], relations: Iterable[tuple[int, int]]) -> str:
    """The text of a subgraph with these entities, which may be said all, and these relations between them."""
    texts = {each.entity: each.text for each in said}
    names = sorted(each.text for each in said if is_name(each.text))
    topics = sorted(each.text for each in said if not is_name(each.text))
    pairs = sorted(" – ".join(sorted((texts[a], texts[b]))) for a, b in relations if a in texts and b in texts)
    parts = ("Names", names), ("Topics", topics), ("Together", pairs)
    return "\n".join(f"{title}: {'; '.join(lines)}." for title, lines in parts if lines)[:MAX_CHARS]


def strongest(network: Network, members: Iterable[int]) -> list[tuple[int, int]]:
    """The pairs of members that weigh most to each other."""
    inside = set(members)
    pairs = [
        (weight, one, other)
        for one in inside
        for other, weight in network.near[one].items()
        if one < other and other in inside and weight >= MIN_WEIGHT
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    return [(one, other) for _, one, other in pairs[:RELATIONS]]
