"""Judging what a search brought and what was written from it, and asking better."""
