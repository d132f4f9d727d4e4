"""Real questions and the passages that answer them."""
