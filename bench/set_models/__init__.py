"""What an embedding model of a set finds, beside the site's and in its place: `make bench-set-models`."""
