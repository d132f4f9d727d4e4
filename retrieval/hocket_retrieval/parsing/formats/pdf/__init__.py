"""Pdf files: pages, notes, and forms."""
