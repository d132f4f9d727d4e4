"""`hocket bench composition`: is what is suggested right with the cloud's memory, and is text more expected with it?"""

from .command import Settings, run

__all__ = ["Settings", "run"]
