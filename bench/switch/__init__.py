"""What people who ask notice of a change of the embedding model: `make bench-switch`."""
