"""Everyday questions over the files of an organisation: which answers are useful, wrong or wrongly refused."""
