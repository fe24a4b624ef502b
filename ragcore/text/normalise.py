"""Making texts comparable without changing what they say."""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def nfkc(text: str) -> str:
    """Compatibility forms unified: full-width letters and digits become ASCII."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def normalise_query(text: str) -> str:
    """A question for retrieval: NFKC, no invisible characters, single spaces, trimmed. Idempotent."""
    return _SPACE.sub(" ", nfkc(_INVISIBLE.sub("", text))).strip()


def squeeze(text: str) -> str:
    """Letters, digits and symbols only, NFKC and lower case: for "does the answer contain it" comparisons.

    Spaces and punctuation are dropped, symbols such as % and ° are kept because they carry meaning.
    """
    folded = nfkc(nfkc(text).lower())
    return "".join(c for c in folded if unicodedata.category(c)[0] in "LNMS")
