"""Run by the test of a killed builder: builds the graph of a store, and kills itself before the N-th statement of SQL.

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
from hocket_retrieval.stores.sqlite.sqlite import SqliteStore

Rules.at_once = 3


def main() -> None:
    folder, path, url, last = sys.argv[1:]
    statements = 0

    def count(_: str) -> None:
        nonlocal statements
        statements += 1
        if statements == int(last or 0):
            os.kill(os.getpid(), signal.SIGKILL)

    with SqliteStore(Path(folder), "toy", 8) as store:
        extractor = extractor_of(GraphConfig(engine=url, model="m" if url else ""))
        graph = Graph(Path(path), store, extractor, 8, 1)
        graph._file._writer.set_trace_callback(count)
        graph.build(lambda: False)
    sys.stdout.write(f"{statements}")


if __name__ == "__main__":
    main()
