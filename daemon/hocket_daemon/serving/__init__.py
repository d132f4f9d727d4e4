"""The code that all modes share: requests, replies, streams, admission, and access to the retrieval daemon."""
