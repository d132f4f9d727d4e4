"""The draft exchange of a session with any number of members."""
