"""Files as plain text, read in a process of their own."""
