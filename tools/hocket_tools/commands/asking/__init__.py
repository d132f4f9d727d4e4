"""Commands that ask, chat, complete text, and explain answers."""
