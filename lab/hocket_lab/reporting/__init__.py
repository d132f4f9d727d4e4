"""What a benchmark writes: settings, rows, claims, pictures, and what they depend on."""
