"""Whole texts: written by the model here, or by a server elsewhere."""
