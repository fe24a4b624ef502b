"""Addresses that texts lead to, as Markdown links: they are kept in the document and not searched by their letters."""

from __future__ import annotations

import re

MAX_ADDRESS = 2_000  # characters
_ADDRESS = re.compile(r"(?:https?|ftp|mailto|file):[^\s<>\"|]+", re.IGNORECASE)
_UNSAFE = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D"})


def linked(text: str, address: str) -> str:
    """`[text](address)`; the text alone where the address is none, says the same, or would break the Markdown."""
    words, address = text.strip(), address.strip()
    if not words or len(address) > MAX_ADDRESS or not _ADDRESS.fullmatch(address):
        return text
    if any(sign in words for sign in "[]\n") or words.startswith("![") or _bare(words) == _bare(address):
        return text
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}[{words}]({address.translate(_UNSAFE)}){trail}"


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://|mailto:)|/$", "", address.strip().lower())
