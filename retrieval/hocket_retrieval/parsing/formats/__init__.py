"""Readers for files of each kind, from their bytes alone; they know neither files nor stores."""
