"""The prices of hosted models: Table 8 of the DiSCo paper, of 28 October 2024."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Price(NamedTuple):
    """Dollars for a million tokens of the prompt, and of the answer."""

    input: float
    output: float


TABLE_8: Mapping[str, Price] = {
    "deepseek-v2.5": Price(0.14, 0.28),
    "gpt-4o-mini": Price(0.15, 0.60),
    "llama-3.1-70b-hyperbolic": Price(0.40, 0.40),
    "llama-3.1-70b-amazon": Price(0.99, 0.99),
    "command": Price(1.25, 2.00),
    "gpt-4o": Price(2.50, 10.0),
    "claude-3.5-sonnet": Price(3.00, 15.0),
    "o1-preview": Price(15.0, 60.0),
}
