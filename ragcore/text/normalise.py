"""Making texts comparable without changing what they say."""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"\s+")
# Characters without a glyph of their own: zero-width spaces, direction marks, soft hyphens, byte order marks,
# object placeholders, and the invisible "tag" letters, with which instructions are hidden in documents.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffc\ufffe\uffff\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_POWER = re.compile("(?<=[0-9])[\u2070\u00b9\u00b2\u00b3\u2074-\u207b]+")
_JOINERS = re.compile("[\u200c\u200d\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def nfkc(text: str) -> str:
    """Compatibility forms unified: full-width letters and digits become ASCII. A power stays one: 10⁶ is 10^6."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _POWER.sub(r"^\g<0>", text))


def remove_unseen(text: str) -> str:
    """Without the characters that nobody sees and that programs and models read all the same."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def visible(text: str) -> str:
    """What people see of a text: also without control characters, some of which terminals obey."""
    return remove_unseen(_CONTROL.sub("", text))


def normalise_query(text: str) -> str:
    """A question for retrieval: NFKC, no invisible characters, single spaces, trimmed. Idempotent."""
    return _SPACE.sub(" ", nfkc(_JOINERS.sub("", remove_unseen(text)))).strip()


def squeeze(text: str) -> str:
    """Letters, digits and symbols only, NFKC and lower case: for "does the answer contain it" comparisons.

    Spaces and punctuation are dropped, symbols such as % and ° are kept because they carry meaning.
    """
    folded = nfkc(nfkc(text).lower())
    return "".join(c for c in folded if unicodedata.category(c)[0] in "LNMS")
