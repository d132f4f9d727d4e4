"""The commands, one file per group; each imports what is heavy only when it runs."""
