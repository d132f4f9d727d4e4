"""Documents in LanceDB."""
