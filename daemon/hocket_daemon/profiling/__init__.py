"""The time that decoding takes, measured and predicted."""
