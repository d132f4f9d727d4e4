"""The counters of a daemon, and the pages on which they are read."""
