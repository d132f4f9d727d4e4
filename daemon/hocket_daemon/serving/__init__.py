"""What every mode uses: requests, replies, streams, admission, and the retrieval daemon."""
