"""A device's knowledge graph of its documents, and a cloud's index of devices' summaries."""
