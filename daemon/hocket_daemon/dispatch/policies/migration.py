"""The move of the writing to the cheaper side, and what the reader notices: DiSCo §4.3. Pure; times are passed in.

Eq. 4 and 5 weigh what the rest of the answer saves against what the target has to read. Eq. 6 says how many tokens
the reader should have in hand, B = r_c t_m, before a source stops; one that writes on needs none.
"""

from __future__ import annotations

import math

from hocket_bus.messages import Side

from .cost import Costs


def worth_moving(costs: Costs, source: Side, remaining_tokens: float, prefill_tokens_on_target: float) -> bool:
    """Tell whether the target's cheaper tokens save more than what it has to read first costs (Eq. 4)."""
    prefill, decode = costs.server_prefill, costs.server_decode
    if source == "cloud":
        prefill, decode = costs.device_prefill, costs.device_decode
    written = costs.device_decode if source == "device" else costs.server_decode
    return (written - decode) * remaining_tokens > prefill * prefill_tokens_on_target


def buffer_tokens(pace: float, migration_s: float) -> int:
    """B of Eq. 6: whole tokens that a reader of `pace` tokens a second reads in `migration_s`."""
    return math.ceil(pace * migration_s)


def lead_tokens(pace: float, handover_s: float) -> int:
    """Return how many tokens ahead of the reader a source must be, so that `handover_s` without a token is no gap.

    It may hold back beyond that: what it would write costs more than the target's.
    """
    return buffer_tokens(pace, handover_s) + 1
