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
    status = Path("/proc/self/status").read_text(encoding="ascii")  # what this process began with is its parent's
    own = int(status.partition("VmHWM:")[2].split()[0])
    memory = [own << 10, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10]
    sys.stdout.write(json.dumps({"files": outcomes, "memory": memory, "left": left}))


if __name__ == "__main__":
    main()
