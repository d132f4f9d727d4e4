"""The summary of a subgraph: its names, its topics, and the pairs named together most, each in alphabetical order.

The order, and a fixed number of relations, keep the text as it is while ranks change. What would make five words in a
row that a document has, too, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..text.lexical import whole_words
from ..text.phrases import is_name
from .network import Network
from .tables import NamedEntity

Cross = Callable[[Sequence[str], Sequence[str]], bool]  # whether words behind others make a quote

MAX_CHARS = 4_000
RELATED = " – "
RELATIONS = 8
MIN_WEIGHT = 2  # chunks that hold both ends of a relation


def summary(named_entities: Sequence[NamedEntity], relations: Iterable[tuple[int, int]], cross: Cross) -> str:
    """Return the summary of a subgraph with these entities, all of which may be named, and these relations."""
    texts = {each.entity: each.text for each in named_entities}
    names = sorted([each.text] for each in named_entities if is_name(each.text))
    topics = sorted([each.text] for each in named_entities if not is_name(each.text))
    pairs = sorted(sorted((texts[a], texts[b])) for a, b in relations if a in texts and b in texts)
    lines: list[str] = []
    written: list[str] = []  # words
    for title, items in (("Names", names), ("Topics", topics), ("Together", pairs)):
        written += whole_words(title)
        if kept := [RELATED.join(item) for item in items if _unquoted(item, written, cross)]:
            lines.append(f"{title}: {'; '.join(kept)}.")
    return "\n".join(lines)[:MAX_CHARS]


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


def _unquoted(item: Sequence[str], written: list[str], cross: Cross) -> bool:
    """Tell whether an item, of one or two texts, makes no quote after what is `written`; if so, add its words there."""
    run = list(written)
    for text in item:
        words = whole_words(text)
        if cross(run, words):
            return False
        run += words
    written[:] = run
    return True
