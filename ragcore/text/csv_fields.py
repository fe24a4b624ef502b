"""How long one cell of a CSV file may be, wherever such a file is read."""

from __future__ import annotations

import csv

MAX_FIELD_CHARS = 1_000_000


def allow_long_fields() -> None:
    """Sets the limit of the csv module, 131,072 characters unless told, to MAX_FIELD_CHARS.

    The limit is one for the whole process: each reader calls this first, so that a file is read alike
    whatever was read before it.
    """
    csv.field_size_limit(MAX_FIELD_CHARS)
