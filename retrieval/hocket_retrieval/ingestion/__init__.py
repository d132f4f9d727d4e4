"""Files into the store: found, queued, read, cut, embedded and put."""
