"""Opening the model that a configuration names, tried out first where it may fail."""
