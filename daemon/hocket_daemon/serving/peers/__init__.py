"""Other daemons, as a session meets them."""
