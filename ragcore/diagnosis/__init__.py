"""Why an answer failed: the passage that bears the answer, followed through the stages, names the cause."""
