"""Token ids of texts, and texts of token ids."""
