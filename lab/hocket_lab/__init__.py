"""The laboratory: benchmarks, figures of papers, a simulator and a link emulator. The product knows nothing of it."""
