"""Composing in editors: a language server that suggests what may follow the cursor."""
