"""The command line, and what it starts."""
