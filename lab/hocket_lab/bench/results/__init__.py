"""The page of results, lab/docs/results.md, made of the files in lab/docs/results; it runs no benchmark."""
