"""The knowledge graph of a collection: entities, who is named with whom, its parts, and what may be said of them."""
