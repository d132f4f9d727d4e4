"""Drafts and targets of one session as they travel: what a party may say is checked here, before anything uses it."""

from __future__ import annotations

from hocket_bus import messages as wire
from hocket_bus.errors import BadRequest
from hocket_bus.messages import Begin

from ...engine.sampling import distribution as codec
from ...serving.stream.targets import targets_of
from ..weights import likelihood_ratio as ratio
from ..weights.relevance import BY_LIKELIHOOD, claims
from .session_terms import Draft, Law, tokens_of


class DraftMessages:
    """The tokens of one session's drafts and targets."""

    def __init__(self, begin: Begin, vocabulary: int) -> None:
        """Prepare; `vocabulary` is the number of the model's tokens."""
        self.compares = begin.weights in BY_LIKELIHOOD and begin.unit == "token"  # unlike models' cannot be compared
        self._claims = claims(begin.weights, begin.documents, begin.relevance_temperature)
        self.targets = targets_of(begin.unit, vocabulary)

    def draft(self, message: wire.Draft) -> Draft:
        """Read a draft. Raises BadMessage for a broken law, BadRequest for what no model or scorer gives."""
        token, law = self._law(message)
        if message.log_h is not None and not self._claims[0] <= message.log_h <= self._claims[1]:
            raise BadRequest(
                "the other side sent a relevance score out of range", "install the same hocket on both ends"
            )
        return Draft(message.step, message.prefix, token, law, message.log_h, message.decode_s)

    def payload(self, draft: Draft) -> tuple[int, bytes]:
        """Return the token and the payload of a draft."""
        return draft.token, codec.encode(tokens_of(draft.distribution))

    def likelihoods(self, message: wire.Draft) -> list[int] | None:
        """Read the likelihoods of the question's tokens, where the draft has them. Raises BadMessage."""
        return None if message.likelihoods is None else ratio.decode(message.likelihoods)

    def _law(self, message: wire.Draft) -> tuple[int, Law]:
        distribution = codec.decode(message.payload)
        self.targets.check([message.token, int(distribution.ids[-1])])
        return message.token, distribution
