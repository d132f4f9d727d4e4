"""Models that a server runs."""
