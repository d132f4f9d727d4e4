"""Client of an HTTP server elsewhere: its address, the API key it is given, and one request with its answer."""
