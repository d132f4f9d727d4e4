"""Passages for a session, and what is known of them before a model reads."""
