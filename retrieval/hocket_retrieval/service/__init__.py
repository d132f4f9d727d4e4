"""The retrieval daemon: what it answers over the bus, and its jobs."""
