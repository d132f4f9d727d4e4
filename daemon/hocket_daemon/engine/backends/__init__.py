"""What reads: transformers over slots of our own, and llama.cpp."""
