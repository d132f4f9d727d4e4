"""Files of programs of an office, but for their sheets."""
