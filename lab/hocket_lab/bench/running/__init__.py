"""Pairs and daemons that benchmarks start."""
