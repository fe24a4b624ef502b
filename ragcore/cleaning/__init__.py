"""Rules that make parsed text readable and comparable."""

from ragcore.cleaning.clean import CleaningResult, clean, clean_with_counts, normalise_text
from ragcore.options import CleaningOptions

__all__ = ["CleaningResult", "CleaningOptions", "clean", "clean_with_counts", "normalise_text"]
