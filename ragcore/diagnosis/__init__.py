"""Why an answer failed (D36): the passage that bears the answer, followed through the stages, names the cause."""
