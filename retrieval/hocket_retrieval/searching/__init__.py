"""Passages found in a store, scored and sorted."""
