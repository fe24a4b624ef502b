"""Answers without a language model: sentences of the sources, chosen by a trained model, quoted and cited."""
