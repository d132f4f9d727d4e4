"""Parts of office files, which are zip archives of XML."""
