"""The policy of what may leave the device, and the record of what left."""
