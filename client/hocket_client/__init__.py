"""The client library: ask a question, iterate over the stream of tokens."""
