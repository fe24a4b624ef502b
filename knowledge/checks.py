"""System checks: faults of the configuration that only opening a file shows. `manage.py bootstrap` runs them first."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def check_tokenizer_file(**_: Any) -> list[CheckMessage]:
    """An error where TOKENIZER_FILE is set and cannot be used."""
    from knowledge.model_registry import counter

    try:
        if settings.TOKENIZER_FILE:
            counter()
    except ValueError as fault:
        return [Error(f"TOKENIZER_FILE {settings.TOKENIZER_FILE} {fault}.", id="knowledge.E001")]
    return []
