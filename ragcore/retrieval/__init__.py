"""Retrieval: the stages that turn a question into ranked passages, and several questions at once."""
