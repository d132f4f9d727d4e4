"""The numbered events of an answer, and their one end."""
