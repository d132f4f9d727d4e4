"""Commands for models and profiles."""
