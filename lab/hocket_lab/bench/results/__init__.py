"""The page of results, docs/results.md, made of the files in docs/results; it runs no benchmark."""
