"""Kinds of versions; each module declares one (`work.versions`)."""
