"""Models read by llama.cpp."""
