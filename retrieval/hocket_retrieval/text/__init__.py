"""Words, names, dates, headings and chunks of a text. Pure; knows no store."""
