"""Which models there are, which fits this machine, and what one costs."""
