"""Run by the tests of kills: a retrieval daemon with a toy embedder, which prints a line for every batch."""

import sys
from pathlib import Path

from hocket_retrieval.collection import Collection
from hocket_retrieval.config import RetrievalConfig
from hocket_retrieval.ingestion import ingest
from hocket_retrieval.service import daemon as daemons
from toys import ToyEmbedder

BATCH = "batch of "


class Telling(ToyEmbedder):
    def documents(self, texts):
        sys.stdout.write(f"{BATCH}{len(texts)}\n")
        sys.stdout.flush()
        sys.stdin.readline()  # each batch is let go by the test
        return super().documents(texts)


def main() -> None:
    endpoint, state = sys.argv[1:]
    ingest.BATCH_CHUNKS = 8
    daemons.open_collection = lambda config: Collection(Path(config.state), Telling(dimension=8), chunk_words=8)
    daemons.run(RetrievalConfig(endpoint=endpoint, state=state, log_level="error"))


if __name__ == "__main__":
    main()
