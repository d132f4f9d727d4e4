"""Writers of a dispatched answer: this side's model, a cloud, or a server of text."""
