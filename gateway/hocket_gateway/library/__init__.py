"""The device's documents, as the gateway reads, adds and removes them."""
