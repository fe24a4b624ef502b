"""Less text for the same question: sentences that matter, summaries, what fits."""
