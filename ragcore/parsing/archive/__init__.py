"""Zip archives, and files inside files."""
