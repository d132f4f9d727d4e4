"""Requests and responses of every path: bodies, refusals, streams and their bounds."""
