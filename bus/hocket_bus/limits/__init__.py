"""Bounds on what one key or connection may send, and fair turns between clients that wait. Pure."""
