"""The laboratory's commands, which `hocket` has where this package is installed."""
