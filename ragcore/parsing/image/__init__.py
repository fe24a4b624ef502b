"""Picture files and pixels."""
