"""DRAGON: distributions, the draft exchange and the sampler that turn two drafts into one token."""
