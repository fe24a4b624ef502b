"""How far answers are held to their sources: `python -m bench.grounding`."""
