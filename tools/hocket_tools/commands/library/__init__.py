"""Commands for documents, search, stores and graphs."""
