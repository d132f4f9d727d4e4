"""The command line, the link emulator and the benchmarks."""
