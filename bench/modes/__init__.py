"""The modes of an answer beside each other."""
