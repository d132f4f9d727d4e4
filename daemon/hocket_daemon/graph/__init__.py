"""DGRAG: devices keep knowledge graphs, share summaries alone, and a gate decides when to ask beyond home."""
