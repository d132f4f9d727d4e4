"""`hocket bench graph`: devices that share summaries, measured part by part."""

from .command import Settings, run

__all__ = ["Settings", "run"]
