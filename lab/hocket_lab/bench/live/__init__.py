"""Code shared by the benchmarks of running dispatched pairs: `hocket bench race` and `hocket bench migration`."""
