"""What is known about one person: given out, and erased."""
