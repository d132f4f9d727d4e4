"""Models read by transformers, over slots of our own."""
