"""What the benchmarks of running dispatched pairs share: `hocket bench race` and `hocket bench migration`."""
