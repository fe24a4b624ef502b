"""Ranking from use measured with simulated people through the product's own path."""
