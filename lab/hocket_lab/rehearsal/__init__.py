"""Daemons with set durations, aggregating sides and moves of an answer, for benchmarks and tests."""
