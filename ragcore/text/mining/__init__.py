"""Terms found in texts without a model: abbreviations, names in two languages, and frequent specialist phrases."""
