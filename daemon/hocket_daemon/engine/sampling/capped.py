"""A law of a token within which no document says more than its bits allow, and the bits that a token then says of it.

Let p_0 be a law that no document changes, as that of a side which has read the question alone, and p_d that of its row
which has read a passage of document d. In place of p_d stands the law that is nearest to it among those of at most
2^b p_0, where b are the bits that d may still disclose:

    q_d(x) = min(c p_d(x), 2^b p_0(x)),  Σ q_d(x) = 1.

f(c) = Σ min(c p_d, 2^b p_0) is continuous and never falls, from at most 1 at c = 1 to 2^b >= 1 where all is capped: so
some c has f(c) = 1, and where two have, each summand is the same for both. q_d minimises KL(q ‖ p_d) within the bound
(c is its multiplier). b = 0 gives p_0; where p_d is within the bound it is q_d.

The side draws from P = Σ w_r q_r over its rows r, with noise of its own that nobody else knows. Let P_d be the same
with p_0 in place of the rows of d. Drawing x is charged max(0, log2 P(x) / P_d(x)) bits of d. With A(x) for what the
other documents' rows give, and W for the weights of d,

    P(x) / P_d(x) = (Σ_d w_r q_r(x) + A(x)) / (W p_0(x) + A(x)) <= max(1, max_d q_r(x) / p_0(x)) <= 2^b,

so no charge is above b, and what is charged in all stays within the bits that d had.

Theorem. Let T be all that somebody sees of tokens drawn so, each from P after the tokens before it, and C_d(T) the sum
of their charges to d. Whatever else they know, and however their questions follow from what they saw:

1. Pr(T) <= 2^C_d(T) Pr_d(T), where Pr_d has P_d in place of P: both are products over the same tokens, and each factor
   is at most 2^charge times the other's. With a budget of K bits no text is more than 2^K times likelier than it would
   be with p_0 for d.
2. The mutual information of d and T, given the other documents and the bits that they had left, is at most E C_d(T):
   for any law Q that does not depend on d it is at most E log2 Pr(T | d) / Q(T), and Pr_d is such a law.
3. For whatever is a function of T, as the text of its words is, 1 holds with the budget K, as a sum of such products,
   and 2 by data processing.

What stays outside: weights, how many passages were read, and the bits that other documents have left, as far as these
follow from d; times and lengths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .heads import Probabilities

Law = NDArray[np.float64]
_MOST = 1000.0  # bits: 2^1000 is a number still, and no float is so much likelier than another


def tempered(chances: Probabilities, temperature: float) -> Law:
    """Return the law [n] that a temperature above 0 makes of `chances` [n], not negative and some of them positive."""
    raised = np.asarray(chances, np.float64)
    if temperature != 1:
        raised = (raised / raised.max()) ** (1 / temperature)
    return np.asarray(raised / raised.sum())


def capped(law: Law, alone: Law, bits: float) -> Law:
    """Return the law [n] nearest to `law` of those that are at most 2^bits times `alone`, which is positive on it.

    Raises nothing: where `law` is within the bound it is returned as it is.
    """
    most = alone * 2.0 ** min(bits, _MOST)
    if (law <= most).all():
        return law
    scale, at_most = 1.0, law >= most
    while True:
        free = float(law[~at_most].sum())
        left = 1.0 - float(most[at_most].sum())
        if free <= 0 or left <= 0:
            break
        scale = left / free
        more = scale * law >= most
        if not (more & ~at_most).any():
            break
        at_most |= more
    found = np.where(at_most, most, scale * law)
    return np.asarray(found / found.sum())


def charge(rows: Probabilities, alone: float, weights: Law, own: NDArray[np.bool_]) -> float:
    """Return the bits that a draw is charged to the document whose rows are `own` [rows].

    `rows` [rows] and `alone` are what each row's capped law, and the question's alone, give to what was drawn.
    """
    with_it = float(weights @ rows)
    without = float(weights @ np.where(own, alone, rows))
    return max(0.0, float(np.log2(with_it / without)))
