"""Models read by vLLM."""
