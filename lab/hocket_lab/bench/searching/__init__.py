"""Benchmarks of search, embedders and stores."""
