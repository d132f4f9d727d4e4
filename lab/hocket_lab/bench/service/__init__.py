"""Benchmarks of the gateway, of soaks, and of all benchmarks in small."""
