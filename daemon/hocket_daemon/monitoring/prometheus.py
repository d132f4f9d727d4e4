"""The daemon's metrics for Prometheus, at an address of this machine: a page that the main loop fills."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from hocket_bus.errors import BadConfiguration

from .http import serve

ANSWER_S = 2.0
_NAME = re.compile(r'(\w+)(?:\{(\w+)="(.*)"\})?')
Metrics = dict[str, float]


class Exporter(Collector):
    """The server of the metrics, until `close`. Raises BadConfiguration where it cannot listen."""

    def __init__(
        self, address: str, post: Callable[[Callable[[], None]], None], metrics: Callable[[], Metrics]
    ) -> None:
        """Listen at `address`; `post` runs a callable on the main loop, where `metrics` is called at each scrape."""
        host, _, port = address.rpartition(":")
        if not host.strip("[]") or not port.isdigit() or not 0 < int(port) < 65_536:
            raise BadConfiguration(f"metrics: '{address}' is not an address", 'write metrics = "127.0.0.1:9464"')
        self._post = post
        self._metrics = metrics
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server = serve(host.strip("[]"), int(port), make_wsgi_app(registry))
        except OSError as error:
            raise BadConfiguration(f"metrics: cannot listen at {address}: {error}", "choose a free port") from error

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Collect the metrics on a server thread; a main loop that does not answer is reported as `hocket_up 0`."""
        found: SimpleQueue[Metrics] = SimpleQueue()
        self._post(lambda: found.put(self._metrics()))
        try:
            metrics = found.get(timeout=ANSWER_S) | {"up": 1.0}
        except Empty:
            metrics = {"up": 0.0}
        yield from _families(metrics)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _families(metrics: Metrics) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for full, value in metrics.items():
        match = _NAME.fullmatch(full)
        assert match is not None, full
        name, key, label = match.groups()
        kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        family = families.setdefault(
            name, kind(f"hocket_{name}", name.replace("_", " "), labels=[key] if key else None)
        )
        family.add_metric([label] if key else [], value)
    yield from families.values()
