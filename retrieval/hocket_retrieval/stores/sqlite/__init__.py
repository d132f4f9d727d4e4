"""Documents in one SQLite file, and the dense index beside it."""
