"""What a lexicon finds in documents, and what it does for searches."""
