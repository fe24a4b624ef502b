"""Scores of answers: by rules and small models (`rules`), or by a language model that is checked (`model_judge`)."""
