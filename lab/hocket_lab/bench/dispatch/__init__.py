"""`hocket bench dispatch`: the daemon's own policies, account, profiles and migration over recorded first tokens."""

from .command import Settings, run

__all__ = ["Settings", "run"]
