"""Measuring a network path with programs of the system and with the bus itself."""
