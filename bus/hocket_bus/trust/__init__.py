"""Keys, pins, sealed boxes and rights: who a machine is on the bus, and whom it believes."""
