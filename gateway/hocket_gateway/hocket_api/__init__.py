"""Paths of hocket's own: the page, documents, the link, explanations, and MCP."""
