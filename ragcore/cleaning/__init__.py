"""Rules that make parsed text readable and comparable; one file per family of rules (D24, D25)."""

from ragcore.cleaning.clean import Cleaned, clean, clean_counted, normalise_text
from ragcore.options import CleaningOptions

__all__ = ["Cleaned", "CleaningOptions", "clean", "clean_counted", "normalise_text"]
