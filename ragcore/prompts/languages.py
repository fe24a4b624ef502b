"""How prompts name a language."""

from __future__ import annotations

LANGUAGE_NAMES = {"zh": "Chinese", "en": "English"}


def language_name(language: str, *, otherwise: str = "the language of the question") -> str:
    """The English name of Chinese and English; `otherwise` for all others."""
    return LANGUAGE_NAMES.get(language, otherwise)
