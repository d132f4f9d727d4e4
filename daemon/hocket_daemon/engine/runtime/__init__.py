"""The compute thread and what it keeps: rows of sequences, and stored KV."""
