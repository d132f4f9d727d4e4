"""The engines that read models: transformers over slots of our own, llama.cpp, vLLM, and servers."""
