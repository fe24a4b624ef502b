"""One module for each system: DISTRIBUTIONS, and build(task, variant), which indexes and returns the search."""
