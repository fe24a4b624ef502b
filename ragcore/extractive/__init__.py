"""Answers without a language model: sentences of the sources, chosen by a trained model, quoted and cited."""

RULES_VERSION = "quotes-3"  # part of the fingerprint of an answer: one by other rules is not served again
