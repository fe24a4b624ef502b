"""Files attached to questions: kept for one conversation of one person, and never part of the knowledge sets."""
