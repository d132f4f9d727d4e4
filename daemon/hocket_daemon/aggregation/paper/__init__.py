"""Algorithm 1 of the DRAGON paper, which figures compare with."""
