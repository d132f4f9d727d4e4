"""Keys, pins, sealed envelopes and rights: a machine's identity on the bus, and whom it trusts."""
