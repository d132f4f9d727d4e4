"""A pair on this machine: its folder, its four processes and their states."""
