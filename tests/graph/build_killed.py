"""Run by the test of a killed builder: builds a store's graph, and kills itself before the N-th statement of SQL.

Without a number it lives, and says how many there were.
"""

import os
import signal
import sys
from pathlib import Path

from hocket_retrieval.config import GraphConfig
from hocket_retrieval.graph.build import Graph
from hocket_retrieval.graph.engine import extractor_of
from hocket_retrieval.graph.reading import Rules
from hocket_retrieval.store import Store

Rules.at_once = 3


def main() -> None:
    path, url, last = sys.argv[1:]
    statements = 0

    def count(_: str) -> None:
        nonlocal statements
        statements += 1
        if statements == int(last or 0):
            os.kill(os.getpid(), signal.SIGKILL)

    with Store(Path(path)) as store:
        store._writer.set_trace_callback(count)
        Graph(store, extractor_of(GraphConfig(engine=url, model="m" if url else "")), 8, 1).build(lambda: False)
    sys.stdout.write(f"{statements}")


if __name__ == "__main__":
    main()
