"""The draft exchange of a session of two, its sampler and its schedule."""
