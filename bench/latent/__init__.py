"""Domain vectors measured through the product's own path."""
