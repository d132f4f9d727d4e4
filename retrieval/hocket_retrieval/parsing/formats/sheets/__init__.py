"""Spreadsheets and tables as rows that say what each value is."""
