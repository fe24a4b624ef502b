"""Sources that speak HTTP, described in files: see docs/rest-sources.md and `description.py`."""
