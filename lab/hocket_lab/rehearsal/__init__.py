"""Daemons that are told how long they take, who aggregates and where an answer moves, for benchmarks and tests."""
