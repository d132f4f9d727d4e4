"""What may leave the device, and what left."""
