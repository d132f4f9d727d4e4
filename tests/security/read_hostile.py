"""Run by the tests of hostile files: ingests a folder and prints, as JSON, what came of each file and what it took."""

import json
import resource
import sys
import time
from pathlib import Path

from hocket_retrieval.collection import Collection
from toys import ToyEmbedder


def main() -> None:
    state, *paths = map(Path, sys.argv[1:])
    with Collection(state, ToyEmbedder(dimension=8)) as collection:
        outcomes = {}
        for path in paths:
            started = time.perf_counter()
            report = collection.ingest([path])
            outcomes[str(path)] = {
                "seconds": time.perf_counter() - started,
                "read": report.added,
                "lines": [line for _, line in report.errors],
            }
        left = collection.status().queued
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    memory = [resource.getrusage(kind).ru_maxrss << 10 for kind in kinds]
    sys.stdout.write(json.dumps({"files": outcomes, "memory": memory, "left": left}))


if __name__ == "__main__":
    main()
