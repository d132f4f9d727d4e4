"""Documents in, ranked passages out; knows nothing of models that generate."""
