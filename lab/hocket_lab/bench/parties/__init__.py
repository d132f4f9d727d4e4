"""Answers of several parties in one process."""
