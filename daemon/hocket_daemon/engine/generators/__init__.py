"""Whole texts: written by the voice here, or by a server elsewhere."""
