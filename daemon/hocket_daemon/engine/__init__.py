"""Prompts in, tokens out: language models that serve many sessions at once. Knows no mode and no socket."""
