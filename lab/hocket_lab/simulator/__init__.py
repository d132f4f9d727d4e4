"""A discrete-event simulator of two sides that draft and aggregate; replays recorded decisions and decode times."""
