"""Benchmarks of time, memory and bytes."""
