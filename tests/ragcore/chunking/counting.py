"""A simple counter for the tests: a word or any other visible character is one token."""

from __future__ import annotations

import re

TOKEN = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")


class SimpleCounter:
    """Implements ports.TokenCounter."""

    def count(self, text: str) -> int:
        return len(TOKEN.findall(text))

    def truncate(self, text: str, limit: int) -> str:
        ends = [token.end() for token in TOKEN.finditer(text)]
        return text if len(ends) <= limit else text[: ends[limit - 1]] if limit > 0 else ""
