"""Commands for keys, members, and what has left."""
