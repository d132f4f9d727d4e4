"""The catalogue of models: those that exist, the one that fits this machine, and what each costs."""
