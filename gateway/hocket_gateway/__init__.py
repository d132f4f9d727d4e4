"""The gateway: hocket over HTTP, for programs that speak OpenAI's API or Ollama's.

A process of its own that asks a running device daemon as any client does; it knows no model and no document.
"""
