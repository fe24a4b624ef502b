"""Follow-up questions made standalone: `python -m bench.rewriting`."""
