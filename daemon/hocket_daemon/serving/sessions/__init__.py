"""Sessions of a daemon, and the requests that begin them."""
