"""Sessions whose steps are words: any two models write one answer (docs/words.md)."""
