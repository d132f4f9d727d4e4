"""The cost of a token on either side: DiSCo §4.1, Algorithm 1 and Appendix E. Pure; knows no request and no file.

FLOPs are the paper's, which counts a multiplication and its addition as one. Dollars are per token here; prices and the
exchange rate λ are per million tokens and per 10^15 FLOPs. The paper's "$ per million FLOPs" would make a token cost
hundreds of dollars; per 10^15 its values of λ, 0.3 and 5, are comparable with Table 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...engine.language_model import Shape
from ...profiling.profiler import Energy
from ..prices import TABLE_8, Price
from ..settings import Constraint, DispatchSettings

_TOKENS, _FLOPS = 1e6, 1e15  # what prices and the exchange rate are per


class Device(NamedTuple):
    """A device of the paper's: its model, and tokens a second of reading and of writing (§5.1)."""

    shape: Shape
    prefill_rate: float
    decode_rate: float


DEVICES: Mapping[str, Device] = {
    "pixel-1.1b": Device(Shape(24, 1024, 16, 4096, 250_880), 31.32, 13.93),
    "pixel-560m": Device(Shape(24, 512, 8, 2048, 250_880), 51.80, 20.14),
    "xiaomi-0.5b": Device(Shape(24, 768, 12, 2048, 151_936), 79.90, 21.47),
}


def prefill_flops(shape: Shape, length: float) -> float:
    """FLOPs of a prompt token by Eq. 9 and 10, `length` tokens in all.

    The printed L² d / heads does not give Table 6; L² d does, within 3 % but for BLOOM-560M.
    """
    return decode_flops(shape, length) + shape.layers * (length**2 - length / shape.heads) * shape.width


def decode_flops(shape: Shape, length: float) -> float:
    """Return the FLOPs of one more token by Eq. 9 and 11 after `length` tokens.

    They give Table 6 but for BLOOM-560M, whose shape has 0.33 · 10^9 where 0.42 is printed.
    """
    layers, width, heads, feed_forward, vocabulary = shape
    attention = 4 * width**2 + length * width / heads + length * width
    return layers * (attention + 2 * width * feed_forward) + 2 * vocabulary * width


def reading_flops(shape: Shape, length: float) -> float:
    """FLOPs of a prompt token as it is computed, a mean over `length` places: each looks back at those before it.

    Bills use this one: Eq. 10 has L² for every token, L³ for a prompt.
    """
    return decode_flops(shape, length / 2)


@dataclass(frozen=True, slots=True)
class Costs:
    """Dollars a token of reading (prefill) and of writing (decode) on either side, λ applied.

    `measured`: the device's are of measured energy; else they are modelled of the model's shape.
    """

    server_prefill: float
    server_decode: float
    device_prefill: float
    device_decode: float
    prefill_flops: float
    decode_flops: float
    measured: bool = False


def price_of(settings: DispatchSettings) -> Price:
    """The server's price; `settings` were checked."""
    return TABLE_8.get(settings.price) or Price(settings.price_input, settings.price_output)


def costs_of(settings: DispatchSettings, shape: Shape, length: float, energy: Energy | None = None) -> Costs:
    """Return the costs of tokens in prompts and answers of around `length` tokens.

    λ is for FLOPs. Measured joules therefore keep the FLOPs of reading as modelled, and say how many times as much
    a token of writing takes.
    """
    price, rate = price_of(settings), settings.exchange_rate / _FLOPS
    reading, writing = reading_flops(shape, length), decode_flops(shape, length)
    if energy is not None and energy.prefill_j > 0:
        writing = reading * energy.decode_j / energy.prefill_j
    return Costs(
        server_prefill=price.input / _TOKENS,
        server_decode=price.output / _TOKENS,
        device_prefill=rate * reading,
        device_decode=rate * writing,
        prefill_flops=reading,
        decode_flops=writing,
        measured=energy is not None and energy.prefill_j > 0,
    )


def constraint_of(costs: Costs) -> Constraint:
    """Return the constrained side: the device, if each of its tokens costs more than any server token (Algorithm 1)."""
    dearest = max(costs.server_prefill, costs.server_decode)
    return "device" if min(costs.device_prefill, costs.device_decode) > dearest else "server"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens that were read and written on either side; `exact` is whether each was counted and none estimated."""

    device_prefilled: int = 0
    device_decoded: int = 0
    server_prefilled: int = 0
    server_decoded: int = 0
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Bill:
    """Eq. 8 of a request: `money` in dollars for the server, `flops` of the device, `total` in dollars, λ applied."""

    money: float
    flops: float
    total: float
    exact: bool


def bill_of(costs: Costs, tokens: Tokens) -> Bill:
    """Return the bill of these tokens, among which are those of losers and of hand-overs."""
    money = costs.server_prefill * tokens.server_prefilled + costs.server_decode * tokens.server_decoded
    flops = costs.prefill_flops * tokens.device_prefilled + costs.decode_flops * tokens.device_decoded
    device = costs.device_prefill * tokens.device_prefilled + costs.device_decode * tokens.device_decoded
    return Bill(money, flops, money + device, tokens.exact)
