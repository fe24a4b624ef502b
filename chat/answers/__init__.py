"""Stored answers as somebody else than their asker may see them: rights, sources, what stands beside them."""
