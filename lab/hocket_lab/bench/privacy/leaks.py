"""Leaks in messages to a cloud: their texts, tokens and distributions, looked through for sentences. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import numpy as np

from hocket_bus.messages import Aggregated, Begin, Draft, End, Hello, Message, Ping, Sync, Target, Withdraw
from hocket_daemon.engine.sampling import distribution as codec
from hocket_daemon.engine.sampling.distribution import Distribution
from hocket_daemon.serving.stream.prefix import PrefixChain

RUN = 3  # tokens in a row that count as a piece of a sentence
LIKELIEST = {"answers": None, "drafted": 0, "likeliest": 1, "likeliest 5": 5, "all": codec.MAX_IDS}
_SPEAKING = (Hello, Ping, Begin, Draft, Target, Aggregated, Sync, End, Withdraw)
_Pairs = Mapping[tuple[int, ...], set[int]]


@dataclass(frozen=True)
class Guess:
    """A draft as the cloud sees it: the tokens before it, itself, and what else could have come."""

    before: tuple[int, ...]
    token: int
    distribution: Distribution


class Shown(Protocol):
    """Tokens of an answer, and drafts as somebody sees them."""

    answer: list[int]
    guesses: list[Guess]


@dataclass
class Seen:
    """The contents of one session as shown to the cloud."""

    begin: Begin
    answer: list[int] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)

    def rejected(self) -> list[tuple[int, ...]]:
        """Return every drafted sequence that the answer did not become."""
        drafted = {(*guess.before, guess.token) for guess in self.guesses}
        return [ids for ids in sorted(drafted) if ids != tuple(self.answer[: len(ids)])]


def sessions(messages: Iterable[Message], together: Mapping[str, list[int]]) -> list[Seen]:
    """Return the sessions in `messages`, in the order of their beginnings.

    Drafts are placed by the digest of their prefix. A cloud that is sent drafts computes the tokens itself: those of
    the answer that both sides wrote `together`.
    """
    seen: dict[bytes, Seen] = {}
    prefixes: dict[bytes, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for message in messages:
        if isinstance(message, Begin):
            seen.setdefault(message.session, Seen(message))
            _note(message, prefixes[message.session], ())
        elif isinstance(message, Target | Aggregated | Draft):
            one = seen[message.session]
            _add(one, prefixes[message.session], message, together.get(one.begin.prompt.query, []))
    for one in (each for each in seen.values() if each.guesses):
        one.answer += together.get(one.begin.prompt.query, [])[len(one.answer) :]
    return list(seen.values())


def _add(
    seen: Seen, prefixes: dict[int, tuple[int, ...]], message: Target | Aggregated | Draft, together: Sequence[int]
) -> None:
    if isinstance(message, Draft):
        seen.answer += together[len(seen.answer) : message.confirmed]
        _note(seen.begin, prefixes, tuple(seen.answer))
        before = prefixes[message.prefix]
        seen.guesses.append(Guess(before, message.token, codec.decode(message.payload)))
        _note(seen.begin, prefixes, (*before, message.token))
        return
    if isinstance(message, Target):  # behind tokens that the cloud has computed itself
        seen.answer += together[len(seen.answer) : message.first]
    first, ids = (message.first, message.ids) if isinstance(message, Target) else (message.step, [message.token])
    seen.answer[first:] = ids
    _note(seen.begin, prefixes, tuple(seen.answer))


def _note(begin: Begin, prefixes: dict[int, tuple[int, ...]], ids: tuple[int, ...]) -> None:
    """Record the digests of these tokens and of all their prefixes, which the cloud can compute as well."""
    chain = PrefixChain(begin.session, begin.sampling.seed)
    for token in ids:
        chain.append(token)
    prefixes |= {chain.at(length): ids[:length] for length in range(len(ids) + 1)}


def texts(message: Message) -> list[str]:
    """Return every text in a message."""
    return list(_strings(msgspec.to_builtins(message, builtin_types=(bytes,))))


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for part in value:
            yield from _strings(part)


def strange(message: Message) -> bool:
    """Tell whether a message could hold more than it should: another kind, or a payload beyond a distribution."""
    if isinstance(message, Draft):
        return codec.encode(codec.decode(message.payload)) != message.payload
    return not isinstance(message, _SPEAKING)


def continuations(
    seen: Iterable[Shown], known: Iterable[Sequence[int]], likeliest: int | None
) -> dict[tuple[int, ...], set[int]]:
    """Return, after each two tokens, those that may follow for all the cloud knows; `known` it knows in any case.

    If `likeliest` is None, the answers alone count. Else the drafted tokens count as well, and that many of the
    likeliest tokens of each distribution.
    """
    seen = list(seen)
    behind: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for run in {run for ids in (*known, *(each.answer for each in seen)) for run in runs(ids)}:
        behind[run[:-1]].add(run[-1])
    if likeliest is not None:
        for guess in (guess for each in seen for guess in each.guesses):
            behind[guess.before[1 - RUN :]] |= {guess.token, *_top(guess.distribution, likeliest)}
    return behind


def _top(distribution: Distribution, number: int) -> list[int]:
    order = np.argsort(-distribution.counts, kind="stable")[:number]
    return [int(token) for token in distribution.ids[order]]


def runs(ids: Sequence[int]) -> set[tuple[int, ...]]:
    """Return every three tokens in a row."""
    return {tuple(ids[at : at + RUN]) for at in range(len(ids) - RUN + 1)}


def own_runs(sentences: Sequence[Sequence[int]]) -> list[set[tuple[int, ...]]]:
    """Return, for each sentence, the runs of tokens that no other one has."""
    having = Counter(run for ids in sentences for run in runs(ids))
    return [{run for run in runs(ids) if having[run] == 1} for ids in sentences]


def rebuilt(own: Collection[tuple[int, ...]], behind: _Pairs) -> float:
    """Return the share of a sentence's own runs of tokens, those that no other sentence has, which the cloud holds."""
    return sum(run[-1] in behind.get(run[:-1], ()) for run in own) / max(1, len(own))
