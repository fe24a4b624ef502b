"""Answers without a language model on public sets, and refusals: `python -m bench.answers`."""
