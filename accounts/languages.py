"""The language of the interface that fits a person's."""

from __future__ import annotations

from django.utils.translation import get_supported_language_variant


def interface_language(locale: str) -> str | None:
    """`zh-CN` and `zh_Hans` as `zh-hans`; None for no language, and for one that the interface does not have."""
    if not locale:
        return None
    try:
        return get_supported_language_variant(locale.replace("_", "-").lower())
    except LookupError:
        return None
