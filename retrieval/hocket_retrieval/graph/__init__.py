"""What documents are about: a device's knowledge graph, and a cloud's index of devices' summaries."""
