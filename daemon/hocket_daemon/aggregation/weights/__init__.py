"""Weights of passages and of sides (DRAGON §4.1, A.1)."""
