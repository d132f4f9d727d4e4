"""The product's defaults, as benchmarks take them: none of them restates one."""

from __future__ import annotations

from hocket_bus.messages import AggregationOptions, Ask, Prompt
from hocket_daemon.aggregation.settings import AggregationSettings
from hocket_daemon.engine.reading import FEW
from hocket_daemon.engine.settings import ModelSettings
from hocket_retrieval.config import RetrievalConfig

_ASKED = Ask(request=bytes(16), topic=bytes(16), prompt=Prompt(query=""))

DOCUMENTS = FEW
TEMPERATURE, TOP_P = _ASKED.sampling.temperature, _ASKED.sampling.top_p
METHOD = AggregationOptions().method
RELEVANCE_TEMPERATURE = AggregationSettings().relevance_temperature
CONTRASTED = AggregationSettings().contrast
WIRE_MASS = AggregationSettings().wire_mass
THREADS, DTYPE = ModelSettings().compute_threads, ModelSettings().dtype
_RETRIEVAL = RetrievalConfig(endpoint="", state="")
EMBEDDER, EMBEDDING_THREADS, EMBEDDING_PRECISION = _RETRIEVAL.embedder, _RETRIEVAL.threads, _RETRIEVAL.precision
