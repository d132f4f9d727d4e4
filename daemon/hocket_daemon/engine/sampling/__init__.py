"""Distributions as they travel, and how a token is drawn of them."""
