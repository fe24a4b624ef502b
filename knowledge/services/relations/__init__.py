"""Relations between documents: what rules and connectors say, what keepers set, and which documents are meant."""
