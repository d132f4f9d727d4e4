"""Run by the test of interrupted ingestion: ingests a folder and prints a line before every batch, until killed."""

import sys
from pathlib import Path

from hocket_retrieval.collection import Collection
from hocket_retrieval.ingestion import ingest
from hocket_retrieval.ingestion.job import Progress
from toys import ToyEmbedder

ingest.BATCH_CHUNKS = 4


def main() -> None:
    state, files = map(Path, sys.argv[1:])

    def wait(progress: Progress) -> None:
        sys.stdout.write(f"{progress.chunks_done}\n")
        sys.stdout.flush()
        sys.stdin.readline()

    with Collection(state, ToyEmbedder(), chunk_words=8) as collection:
        collection.ingest([files], wait)


if __name__ == "__main__":
    main()
