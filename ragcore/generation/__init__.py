"""Which model writes an answer, what it costs, and what happens when it does not (U10, V6, V13)."""
