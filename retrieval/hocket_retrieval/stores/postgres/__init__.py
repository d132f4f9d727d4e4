"""Documents in PostgreSQL."""
