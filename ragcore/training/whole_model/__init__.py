"""Training of all weights of an embedding model, in a process of its own; see docs/decisions/067."""
