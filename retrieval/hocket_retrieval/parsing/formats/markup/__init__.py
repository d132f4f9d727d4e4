"""Text with markup: pages, Markdown, LaTeX, notebooks and the like."""
