"""Source code as documents: whether a description of a function, and its name, find it."""
