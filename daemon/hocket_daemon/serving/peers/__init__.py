"""Other daemons as the peers of a session."""
