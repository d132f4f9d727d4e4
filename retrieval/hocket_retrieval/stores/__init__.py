"""Stores of documents: what is asked of each (protocol.py), and the kinds that there are."""
