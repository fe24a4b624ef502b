"""The text of a lexicon file whose encoding nobody names: read where it is certain, else refused.

A wrong guess becomes gibberish that is approved, so a reading must have no rival. What tells the encodings of short
lists apart was tried on the words of Django's catalogs, 1 to 100 of them in a file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from knowledge.lexicon_errors import LexiconTermError
from ragcore.errors import CorruptDocumentError
from ragcore.parsing.charset import decode, east_asian_encoding

_UNICODE = (
    ("utf-8", b""),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
)
_UNMARKED = ("utf-16-le", "utf-16-be")
_LATIN = ("cp1252", "cp1250", "cp1254")  # of western, central European and Turkish Windows
_HIGH = re.compile(rb"[\x80-\xff]+")  # what is not ASCII
_HAN_ONLY = range(0xD0, 0xD8)  # first bytes of frequent characters in GB 2312; of rare ones in EUC-KR and EUC-JP
MOST_BYTES_APART = 1.25  # in a run, on average: accented letters stand alone in their words
LEAST_HAN_ONLY = 0.03  # share of the characters, each counted once; about 0.3 in Chinese text


def text_of(content: bytes) -> str:
    """The text of a file in Unicode, GB 18030, Big5, Shift-JIS or Latin-1. Raises LexiconTermError where unsure."""
    try:
        text = decode(content)
    except CorruptDocumentError as error:
        raise LexiconTermError("file") from error
    if _is_unicode(content, text):
        return text
    encoding = _encoding_of(content) if b"\x00" not in content else None
    if encoding is None:
        raise LexiconTermError("encoding")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise LexiconTermError("encoding") from error


def _is_unicode(content: bytes, text: str) -> bool:
    """Whether the text is all that the file holds; UTF-16 without a mark shows by the null bytes of its line ends."""
    if any(content.startswith(mark) and mark + text.encode(name) == content for name, mark in _UNICODE):
        return True
    return b"\x00" in content and any(text.encode(name) == content for name in _UNMARKED)


def _encoding_of(content: bytes) -> str | None:
    """The only encoding that fits; None where none does, or several do."""
    runs = _HIGH.findall(content)
    east = east_asian_encoding(content)
    if sum(map(len, runs)) <= MOST_BYTES_APART * len(runs):  # accents, or Chinese whose second bytes are ASCII
        return "cp1252" if east is None and _is_latin(content) else None
    if east == "gb18030" and not _has_han_only(runs):  # may be Korean or Japanese
        return None
    if east == "cp950" and all(len(run) % 2 == 0 for run in runs):  # no second byte is ASCII: not Big5
        return None
    return east


def _is_latin(content: bytes) -> bool:
    """Whether every byte is the same letter in all of these encodings."""
    try:
        return len({content.decode(name) for name in _LATIN}) == 1
    except UnicodeDecodeError:
        return False


def _has_han_only(runs: Sequence[bytes]) -> bool:
    characters = {run[at : at + 2] for run in runs for at in range(0, len(run), 2)}
    return sum(one[0] in _HAN_ONLY for one in characters) >= LEAST_HAN_ONLY * len(characters)
