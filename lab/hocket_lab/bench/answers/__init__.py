"""Benchmarks of answers: right, wrong, unknown or invented."""
