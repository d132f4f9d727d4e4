"""Commands that start, stop and watch daemons."""
