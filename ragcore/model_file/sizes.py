"""Sizes in words, for messages."""

from __future__ import annotations

UNITS = ("B", "kB", "MB", "GB", "TB")


def size_words(size_bytes: int) -> str:
    """A size as a download page says it, in decimal units: 1.1 GB."""
    value, unit = float(size_bytes), 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {UNITS[unit]}" if unit and value < 99.95 else f"{value:.0f} {UNITS[unit]}"
