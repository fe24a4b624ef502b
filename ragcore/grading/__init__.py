"""Judging what a search brought and what was written from it, and asking better (U7, V10, A3)."""
