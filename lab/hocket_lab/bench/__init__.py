"""The benchmarks: each writes JSON, prints a table and draws a picture."""
