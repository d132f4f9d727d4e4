"""Published models: fetched from the package index, and what is told of them."""
