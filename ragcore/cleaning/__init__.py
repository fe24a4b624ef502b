"""Rules that make parsed text readable and comparable; one file per family of rules (D24, D25)."""

from ragcore.cleaning.clean import CleaningOptions, clean, normalise_text

__all__ = ["CleaningOptions", "clean", "normalise_text"]
