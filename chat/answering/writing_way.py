"""How far the language model of the site writes its answers."""

from __future__ import annotations

from knowledge import model_registry
from ragcore.llm.model_profile import profile_of

QUOTING = ("fill", "quote")  # ways in which the sources are quoted, at most one sentence of them chosen by a model


def quotes_lists() -> bool:
    """Whether lists, counts, comparisons and summaries are quoted: without a model, or with one that only chooses.

    Then they may rest on all passages of their documents, which would be too many for a prompt.
    """
    return model_registry.chat_model() is None or profile_of(model_registry.generator()).way in QUOTING
