"""What is counted, and where it is read."""
