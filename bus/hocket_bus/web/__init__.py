"""A server elsewhere that speaks HTTP: where it is, the key that it is shown, and one request with its answer."""
