"""Benchmarks of what others learn of private documents."""
