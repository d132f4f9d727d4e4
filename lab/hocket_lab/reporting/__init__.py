"""Reports of benchmarks: settings, rows, claims, pictures, and what they depend on."""
