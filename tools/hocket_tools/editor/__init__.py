"""Composing for people in a terminal, and for programs line by line."""
