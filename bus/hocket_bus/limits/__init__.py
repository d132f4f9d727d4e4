"""Bounds on what one key or connection may send, and turns between those who wait. Pure."""
