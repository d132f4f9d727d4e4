"""Published models: fetched from the package index or the hub, checked, described and listed."""
