"""Records of what was decided for each answer, and of its sources."""
