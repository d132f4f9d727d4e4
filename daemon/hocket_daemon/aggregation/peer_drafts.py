"""What another party says of a step, read and checked: its draft, its log h, and how it reads the question. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hocket_bus import messages as wire
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Begin

from ..engine.sampling import distribution as codec
from . import likelihood_ratio as ratio
from .exchange import Draft
from .relevance import BY_LIKELIHOOD, claims


class DraftReader:
    """Reads the drafts of one session."""

    def __init__(self, begin: Begin, vocabulary: int) -> None:
        """`vocabulary` is the number of the model's tokens."""
        self.compares = begin.weights in BY_LIKELIHOOD
        self._claims = claims(begin.weights, begin.documents, begin.relevance_temperature)
        self._vocabulary = vocabulary

    def draft(self, message: wire.Draft) -> Draft:
        """Raises BadMessage for a distribution that cannot be read, BadRequest for what no model or scorer gives."""
        distribution = codec.decode(message.payload)
        self.check([message.token, int(distribution.ids[-1])])
        if message.log_h is not None and not self._claims[0] <= message.log_h <= self._claims[1]:
            raise BadRequest("the other side claims a relevance that no scorer gives", "use one version on both sides")
        return Draft(message.step, message.prefix, message.token, distribution, message.log_h, message.decode_s)

    def likelihoods(self, message: wire.Draft) -> list[int] | None:
        """Of the question's tokens, where the draft tells them. Raises BadMessage."""
        return None if message.likelihoods is None else ratio.decode(message.likelihoods)

    def check(self, tokens: Sequence[int]) -> None:
        """Raises BadRequest for a token that the model does not have."""
        if max(tokens, default=0) >= self._vocabulary:
            raise BadRequest("the other side sent a token that this model does not have", "use models of one family")
