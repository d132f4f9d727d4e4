"""The next token's log-probabilities as servers with OpenAI's API report them, as pure functions.

llama.cpp's server names the likeliest tokens by id and bytes. vLLM names them by id, and tells the text of the first;
it alone tells how likely a prompt's own tokens were.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hocket_bus.errors import BadConfiguration, HocketError, ProtocolError

from ...generators.completions import refused

NONE_TOLD = BadConfiguration(
    "the server returns no log-probabilities with token ids",
    "use llama.cpp's server or vLLM's, or set [server] logprobs = 0",
)
_BY_ID = "token_id:"  # vLLM's name of a token
_HALF = "\ufffd"  # in a text, of what is no whole character
_ROUNDING = 1e-3  # of a sum of probabilities


class Likeliest(NamedTuple):
    """The likeliest ids, which ascend, and their probabilities; `pieces` are the bytes of those that the server names.

    `prompt` are the probabilities of the prompt's tokens but the first, where they were asked for and are told.
    """

    ids: NDArray[np.int32]
    probabilities: NDArray[np.float32]
    fragments: dict[int, bytes]
    prompt: NDArray[np.float32] | None


class _Likely(Struct, frozen=True):
    id: int
    bytes: list[int]
    logprob: float


class _Content(Struct, frozen=True):
    top_logprobs: list[_Likely]


class _Logprobs(Struct, frozen=True):
    content: list[_Content] = []  # llama.cpp's
    tokens: list[str] = []  # vLLM's, and what follows
    top_logprobs: list[dict[str, float] | None] = []


class _Scored(Struct, frozen=True):
    logprob: float


class _Choice(Struct, frozen=True):
    text: str = ""
    logprobs: _Logprobs | None = None
    prompt_logprobs: list[dict[str, _Scored] | None] | None = None


class _Answer(Struct, frozen=True):
    choices: list[_Choice]


def body_of(ids: list[int], model: str, number: int, *, scored: bool) -> bytes:
    """Return a body that asks for the `number` likeliest ids after `ids` and, where `scored`, how likely these were."""
    asked = {
        "model": model,
        "prompt": ids,
        "max_tokens": 1,
        "temperature": 0.0,
        "logprobs": number,
        "return_tokens_as_token_ids": True,
    }
    return msgspec.json.encode(asked | ({"prompt_logprobs": 0} if scored else {}))


def size_of(ids: list[int]) -> int:
    """Bytes of some of the ids in such a body, each with its comma."""
    return sum(len(str(id)) + 1 for id in ids)


def parsed(body: bytes, ids: list[int], number: int, vocabulary: int) -> Likeliest:
    """Read the `number` likeliest ids after `ids` from an answer.

    Raises BadConfiguration where it tells no log-probabilities, or fewer, and ProtocolError for what is no answer.
    """
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # its text may hold the prompt
        raise ProtocolError("the server does not answer with text and log-probabilities", "see [server] url") from None
    choice = answer.choices[0] if answer.choices else _Choice()
    likely, fragments = _likely(choice)
    if not likely:
        raise NONE_TOLD
    if len(likely) < number:
        raise _too_few(f"the server returns {len(likely)} of {number} log-probabilities")
    found = sorted(likely.items(), key=lambda each: -each[1])[:number]
    chances = np.exp([logprob for _, logprob in found]).astype(np.float32)
    named = np.array([id for id, _ in found])
    if not np.isfinite(chances).all() or chances.sum(dtype=np.float64) > 1 + _ROUNDING or named.min() < 0:
        raise ProtocolError("the server returns invalid log-probabilities", "see its log")
    kept = np.flatnonzero((named < vocabulary) & (chances > 0))  # some models' output layers are wider
    kept = kept[named[kept].argsort()]
    return Likeliest(named[kept].astype(np.int32), chances[kept], fragments, _of_prompt(choice, ids))


def refusal_of(status: int, refusal: bytes, retry_after: str, number: int) -> HocketError:
    """Return the error that a status means; a server that reports fewer log-probabilities refuses the request."""
    if status == 400 and b"logprobs" in refusal:
        return _too_few(f"the server does not return {number} log-probabilities")
    return refused(status, refusal, retry_after)


def _too_few(what: str) -> BadConfiguration:
    return BadConfiguration(what, "lower [server] logprobs, or raise its own limit (vLLM: --max-logprobs)")


def _likely(choice: _Choice) -> tuple[dict[int, float], dict[int, bytes]]:
    """Log-probabilities by id, and the bytes of those ids that are no special ones, of which a server says nothing."""
    found = choice.logprobs
    if found is not None and found.content:
        top = found.content[0].top_logprobs
        return {each.id: each.logprob for each in top}, {each.id: bytes(each.bytes) for each in top if each.bytes}
    if found is None or not found.top_logprobs or not found.tokens:
        return {}, {}
    named = {_number(name): logprob for name, logprob in (found.top_logprobs[0] or {}).items()}
    whole = choice.text and _HALF not in choice.text
    return named, {_number(found.tokens[0]): choice.text.encode()} if whole else {}


def _number(name: str) -> int:
    number = name.removeprefix(_BY_ID)
    if not name.startswith(_BY_ID) or not number.isdecimal():
        raise NONE_TOLD
    return int(number)


def _of_prompt(choice: _Choice, ids: list[int]) -> NDArray[np.float32] | None:
    scored = choice.prompt_logprobs
    if scored is None or len(scored) != len(ids):
        return None
    found = [(each or {}).get(str(id)) for each, id in zip(scored[1:], ids[1:], strict=True)]
    if any(each is None for each in found):
        return None
    return np.exp([each.logprob for each in found if each is not None]).astype(np.float32)
