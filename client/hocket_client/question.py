"""Validation of a caller's arguments: names and types that a method declares, a question's options and ranges.

All is checked before anything is sent.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import os
import re
import reprlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from msgspec import structs

from hocket_bus.errors import BadRequest, ProtocolError
from hocket_bus.messages import (
    MAX_GRAMMAR_CHARS,
    MAX_LOGPROBS,
    MAX_TOKENS,
    AggregationOptions,
    Ask,
    DispatchOptions,
    NamedOptions,
    Prompt,
    Sampling,
    Task,
    Turn,
    Unknown,
)
from hocket_bus.messages import Options as ModeOptions
from hocket_bus.messages.dispatch import Writer
from hocket_bus.wire import decode, encode

from .conversation import checked_prompt, latest, prompt_of
from .schema import grammar_of, request_for

P = ParamSpec("P")
R = TypeVar("R")

_WORDS = {str: "text", bool: "True or False", int: "a whole number", float: "a number", NoneType: "None"}
_WORDS[Path] = "a pathlib.Path"
_WORDS[Turn] = "a Turn"
_WORDS[object] = "values of JSON"
_WORDS[bytes] = "bytes"


def checked(method: Callable[P, R]) -> Callable[P, R]:
    """Check a method's arguments at each call. Raises BadRequest that names an unknown one, or one of a wrong type."""
    called = method.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    signature = inspect.signature(method)

    @functools.cache
    def types() -> dict[str, Any]:  # not before all classes that are named are there
        found = get_type_hints(method)
        options = [get_args(found.pop(name))[0] for name in list(found) if get_origin(found[name]) is Unpack]
        return {name: found[name] for name in signature.parameters if name in found} | {
            name: kind for each in options for name, kind in get_type_hints(each).items()
        }

    @functools.wraps(method)
    def check(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in types():
                raise BadRequest(f"{called} has no argument '{name}'", _meant(name, list(types())))
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise BadRequest(f"{called}: {error}", f"it takes {', '.join(types())}") from error
        for name, value in (given | kwargs).items():
            if name in types():
                _check(name, value, types()[name])
        return method(*args, **kwargs)

    return check


def _check(name: str, value: object, kind: Any) -> None:  # noqa: ANN401 - an annotation
    if not _fits(value, kind):
        raise BadRequest(f"{name} is {reprlib.repr(value)}", f"give {_takes(kind)}")
    if name.endswith("_s") and isinstance(value, int | float) and value < 0:
        raise BadRequest(f"{name} is {value:g}", "give seconds, 0 or more")


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - an annotation
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin in (list, tuple):  # as many as there are
        return isinstance(value, list | tuple) and all(_fits(each, get_args(kind)[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(each, get_args(kind)[1]) for each in value.values())
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_number(value)
    return isinstance(value, kind) and (kind in (bool, object) or not isinstance(value, bool))


def _is_number(value: float) -> bool:
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number that is greater than any
        return False


def _takes(kind: Any) -> str:  # noqa: ANN401 - an annotation
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return " or ".join(_takes(each) for each in get_args(kind))
    if origin is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if origin is dict:
        return f"a dict whose values are {_takes(get_args(kind)[1])}"
    if origin is list:
        return f"a list, each item {_takes(get_args(kind)[0])}"
    return "a list of texts" if origin is tuple else _WORDS[kind]


def _meant(name: str, known: list[str]) -> str:
    """Return a hint: the argument that was probably meant, or all there are."""
    near = difflib.get_close_matches(name, known, n=1)
    if "timeout" in name:
        near = [each for each in known if each.endswith("_s")] or near
    return f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"


DEFAULTS = Ask(
    request=bytes(16), topic=bytes(16), prompt=Prompt(query="")
)  # what a question has that says nothing else
AGGREGATING = (DEFAULTS.mode, "graph", "auto")  # modes in which two sides aggregate
DRAWN, AGGREGATED, DISPATCHED = DEFAULTS.sampling, AggregationOptions(), DispatchOptions()


class Options(TypedDict, total=False):
    """The options of `ask` beside the question; those not given have the defaults of `ask_message`.

    An option that a mode does not know is refused unless it has its default.
    """

    mode: str
    aggregation: str  # how drafts are exchanged: coupled, independent, sync, sync-both
    weights: str  # how passages are weighed: dynamic, static, off, likelihood
    task: Task
    messages: list[dict[str, str]]  # a conversation, instead of the question: role and content, the query last
    turns: list[Turn]  # earlier questions and their answers, the oldest first
    system: str  # a line that the model is told before all
    seed: int | None  # repeats an answer; None: a random one
    max_tokens: int
    temperature: float  # 0 is greedy
    top_p: float
    logprobs: int | None  # of how many of the likeliest tokens in each place, beside the token's own; None: of none
    documents: int | None  # passages a side; None: as many as the asked side's model reads well
    within: str | tuple[str, ...]  # folders, or documents, of the asked side from which alone its passages are
    unknown: Unknown  # what comes of a question that nothing found is about: say (so), mark (the answer), answer
    asker: str  # for whom a program asks, for the asked side's records
    shares: bool  # each token tells the shares of the passages read here, as soon as they are known
    stop: str | tuple[str, ...]  # texts before which the answer ends
    schema: dict[str, object] | None  # the answer is JSON that fits this JSON Schema
    grammar: str  # the answer is a text of this grammar, in llguidance's dialect of Lark
    ignore_eos: bool
    require_cloud: bool  # rather an error than an answer of the device alone
    alone: bool
    members: str | tuple[str, ...]  # devices of the group that are to draft along, in the modes graph and auto
    to: Writer  # who is to write a dispatched answer: device, cloud, server; empty: whoever is faster or cheaper
    pace: float  # tokens a second at which they are handed out evenly; 0: as they come
    own: dict[str, bool | int | float | str]  # options of a mode that is none of these four, by name
    deadline_s: float


def ask_message(
    question: str | None,
    *,
    topic: bytes,
    messages: Sequence[Mapping[str, str]] = (),
    turns: Sequence[Turn] = (),
    system: str = "",
    mode: str = DEFAULTS.mode,
    aggregation: str = AGGREGATED.method,
    weights: str = AGGREGATED.weights,
    task: Task = DEFAULTS.task,
    seed: int | None = None,
    max_tokens: int = DRAWN.max_tokens,
    temperature: float = DRAWN.temperature,
    top_p: float = DRAWN.top_p,
    logprobs: int | None = DRAWN.logprobs,
    documents: int | None = DEFAULTS.documents,
    within: str | tuple[str, ...] = (),
    unknown: Unknown = DEFAULTS.unknown,
    shares: bool = DEFAULTS.shares,
    asker: str = DEFAULTS.asker,
    stop: str | tuple[str, ...] = (),
    schema: dict[str, object] | None = None,
    grammar: str = DRAWN.grammar,
    ignore_eos: bool = False,
    require_cloud: bool = False,
    alone: bool = False,
    members: str | tuple[str, ...] = (),
    to: Writer = DISPATCHED.to,
    pace: float = DISPATCHED.pace,
    own: Mapping[str, bool | int | float | str] = MappingProxyType({}),
    deadline_s: float = DEFAULTS.deadline_s,
) -> Ask:
    """Build an Ask from `Options`; no seed means a random one. Raises BadRequest for values out of range."""
    aggregated = _aggregated(aggregation, weights, members, require_cloud=require_cloud, alone=alone)
    prompt, grammar = _asked_for(schema, _prompt(question, messages, turns, system), grammar)
    number = secrets.randbits(64) if seed is None else seed
    ask = Ask(
        request=os.urandom(16),
        topic=topic, prompt=prompt, mode=mode,
        options=_options(mode, aggregated, DispatchOptions(alone=alone, pace=pace, to=to), own),
        sampling=Sampling(
            temperature=temperature, top_p=top_p, seed=number, max_tokens=max_tokens, logprobs=logprobs, grammar=grammar
        ),
        task=task, documents=documents, within=_listed(within),
        unknown=unknown,
        shares=shares, asker=asker, stop=_listed(stop), ignore_eos=ignore_eos, deadline_s=deadline_s,
    )  # fmt: skip
    return _in_range(ask, pace)


def _aggregated(
    method: str, weights: str, members: str | tuple[str, ...], *, require_cloud: bool, alone: bool
) -> AggregationOptions:
    listed = _listed(members)
    return AggregationOptions(method=method, weights=weights, require_cloud=require_cloud, alone=alone, members=listed)


def _listed(names: str | tuple[str, ...]) -> list[str]:
    """Return one name, several or none as a list."""
    return [names] if names and isinstance(names, str) else list(names)


def _asked_for(schema: Mapping[str, object] | None, prompt: Prompt, grammar: str) -> tuple[Prompt, str]:
    """Return the prompt that asks for JSON by a schema, if there is one, and the grammar. Raises BadRequest."""
    if schema is None:
        return prompt, grammar
    if grammar:
        raise BadRequest("schema and grammar exclude each other", "choose one")
    system = "\n\n".join(filter(None, [prompt.system, request_for(schema)]))
    return checked_prompt(structs.replace(prompt, system=system)), grammar_of(schema)


def _prompt(question: str | None, messages: Sequence[Mapping[str, str]], turns: Sequence[Turn], system: str) -> Prompt:
    if question is None and not messages:
        raise BadRequest("there is no question", "give one, or messages")
    if question is not None and not messages:
        return checked_prompt(Prompt(query=question, turns=latest(turns), system=system))
    if question is not None or turns or system:
        raise BadRequest("messages already contain the question, the turns and the system line", "leave out the others")
    return prompt_of(messages)


def _options(
    mode: str,
    aggregated: AggregationOptions,
    dispatched: DispatchOptions,
    own: Mapping[str, bool | int | float | str],
) -> ModeOptions | None:
    """Return the mode's options. Raises BadRequest if an option was given that the mode does not know."""
    named = NamedOptions(values=dict(own))
    options: ModeOptions | None = named if named.values else None
    fits = aggregated == AggregationOptions() and not dispatched.to
    if mode in AGGREGATING:
        options, fits = aggregated, not named.values and not dispatched.to
    elif mode == "dispatch":
        options, fits = dispatched, not named.values and aggregated == AggregationOptions(alone=dispatched.alone)
    if not fits:
        raise BadRequest(f"these options do not apply to mode {mode[:50]}", "leave them out")
    return options


def _in_range(ask: Ask, pace: float) -> Ask:
    """Return the Ask unchanged. Raises BadRequest for a value out of range, and for an Ask that cannot be sent."""
    sampling = ask.sampling
    checks = [
        (1 <= sampling.max_tokens <= MAX_TOKENS, f"max_tokens is {sampling.max_tokens}", f"use 1 to {MAX_TOKENS}"),
        (0 <= sampling.temperature <= 10, f"temperature is {sampling.temperature}", "use 0 (greedy) to 10"),
        (0 < sampling.top_p <= 1, f"top_p is {sampling.top_p}", "use more than 0 and at most 1"),
        (0 <= (sampling.logprobs or 0) <= MAX_LOGPROBS, f"logprobs is {sampling.logprobs}", f"use 0 to {MAX_LOGPROBS}"),
        (0 <= (ask.documents or 0) <= 64, f"documents is {ask.documents}", "use 0 to 64"),
        (0 <= sampling.seed < 1 << 64, f"seed is {sampling.seed}", "use 0 to 2^64 - 1"),
        (0 <= pace <= 10_000, f"pace is {pace}", "use 0 (no limit) to 10000 tokens a second"),
        (0 < ask.deadline_s < math.inf, f"deadline_s is {ask.deadline_s}", "use a finite number above 0"),
        (
            len(ask.prompt.query) <= 100_000,
            f"the question has {len(ask.prompt.query)} characters",
            "send 100,000 at most",
        ),
        (all(ask.stop), "a stop text is empty", "leave it out"),
        (all(ask.within), "a folder to read is empty", "leave it out"),
        (len(ask.stop) <= 16, f"there are {len(ask.stop)} stop texts", "use at most 16"),
        (
            len(sampling.grammar) <= MAX_GRAMMAR_CHARS,
            f"the grammar or schema has {len(sampling.grammar)} characters",
            f"use at most {MAX_GRAMMAR_CHARS}",
        ),
    ]
    if isinstance(ask.options, AggregationOptions):
        both = ask.options.alone and ask.options.require_cloud
        checks.append((not both, "alone and require_cloud exclude each other", "choose one"))
    for fine, text, remedy in checks:
        if not fine:
            raise BadRequest(text, remedy)
    try:
        decode(encode(ask))
    except (ProtocolError, UnicodeEncodeError) as error:
        reason = re.sub(r"\$\[(\d+)\]", lambda at: Ask.__struct_fields__[int(at[1])], str(error))
        raise BadRequest(f"this cannot be sent: {reason}", "fix or shorten it") from error
    return ask
