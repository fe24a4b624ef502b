"""The retrieval lab: questions searched for with a configuration, what became of each passage, and stored questions."""
