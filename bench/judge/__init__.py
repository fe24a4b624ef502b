"""How well the judge without a model agrees with people."""
