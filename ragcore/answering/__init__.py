"""Everything between a question and the final text, in small asynchronous stages (decision 014)."""
