"""`hocket bench group`: several devices that write one answer, measured part by part."""

from .command import Settings, run

__all__ = ["Settings", "run"]
