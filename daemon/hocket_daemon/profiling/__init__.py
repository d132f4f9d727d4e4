"""How long decoding takes, measured and predicted."""
