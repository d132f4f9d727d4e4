"""The two daemons, and what each is put together from."""
