"""Short names that a sign or a letter behind them tells apart: C, C++ and C#; A, A+ and A-; 5G and 5G-A; Type-C."""

from __future__ import annotations

import re

from ragcore.text.normalise import nfkc

_WORD = re.compile(
    r"(?<![A-Za-z0-9+#_./-])(?P<base>[A-Z]{1,2}|\dG)(?P<sign>\+\+|[#+]|-A(?:dvanced)?\b|-(?=\s?[级級等类類档檔评評])|)"
    r"(?![A-Za-z0-9+#_-])"
)
_LETTERED = re.compile(r"(?<![\w-])(?P<base>[A-Z][a-z]{1,11}-)(?P<letter>[A-Z])(?![\w-])")
_ARTICLE = re.compile(r"\s+[a-z]")  # "A pump" is any pump


def signed_words(text: str) -> frozenset[tuple[str, str]]:
    """The short names of a text, each with its sign; "" for one without."""
    plain = nfkc(text)
    lettered = {(match["base"], match["letter"]) for match in _LETTERED.finditer(plain)}
    return frozenset(lettered).union(
        (match["base"], match["sign"][:2])
        for match in _WORD.finditer(plain)
        if match["sign"] or match["base"] not in ("A", "I") or not _ARTICLE.match(plain, match.end())
    )


def names_another(question: frozenset[tuple[str, str]], words: frozenset[tuple[str, str]]) -> bool:
    """Whether words have none of the question's names, and one that only its sign tells apart from one of these."""
    return not words & question and not {base for base, _sign in words}.isdisjoint(base for base, _sign in question)
