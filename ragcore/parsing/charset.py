"""Bytes to text when nobody says which encoding they have.

Order: byte order mark, UTF-16 without one, strict UTF-8, the two Chinese encodings, damaged UTF-8, then
charset-normalizer. GB18030 and Big5 overlap so far that both usually decode; what tells them apart is that
real text consists of frequent characters, and both standards put those on their "level 1" pages.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from ragcore.errors import CorruptDocumentError

SAMPLE_BYTES = 65_536
MIN_CHINESE_SCORE = 0.8  # share of frequent characters from which a Chinese encoding is believed
MAX_CONTROL_SHARE = 0.05  # more control characters than this: not a text file

STRAY_NULLS = 0.2  # up to this share of null bytes, valid UTF-8 is UTF-8 with dirt in it

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# other formats under the name of a text: some consist of readable characters to a large part
_BINARY = (
    *(b"%PDF-", b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"Rar!\x1a\x07", b"\x7fELF"),
    *(b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00"),
    *(b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff"),
)
_ALIASES = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "iso-8859-1": "cp1252", "latin-1": "cp1252"}
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")

# punctuation and symbols, then the frequent characters, as two-byte codes of the encoding itself
_GB_LEVEL_ONE = ((0xA1A1, 0xA3FE), (0xB0A1, 0xD7FE))
_BIG5_LEVEL_ONE = ((0xA140, 0xA3BF), (0xA440, 0xC67E))
_JIS_LEVEL_ONE = ((0x8140, 0x84BE), (0x889F, 0x9872))  # with kana


def decode(content: bytes, *, declared: str | None = None) -> str:
    """The text of a file, line ends as they are, null characters removed.

    `declared` is the encoding that the file names itself (HTML); it is used only when the bytes obey it.
    Raises CorruptDocumentError when the bytes are not text.
    """
    if content.startswith(_BINARY):
        raise CorruptDocumentError("binary")
    text = _decode(content, declared).replace("\x00", "")
    sample = text[:SAMPLE_BYTES]
    if sample and len(_CONTROL.findall(sample)) > MAX_CONTROL_SHARE * len(sample):
        raise CorruptDocumentError("binary")
    return text


def _decode(content: bytes, declared: str | None) -> str:
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    if declared and (obeyed := _strict(content, _ALIASES.get(declared.lower(), declared))) is not None:
        return obeyed
    if (wide := _unmarked_utf16(content)) is not None:
        return content.decode(wide, errors="replace")
    if (plain := _strict(content, "utf-8")) is not None:
        return plain
    return _chinese(content) or _damaged_utf8(content) or _guessed(content)


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _unmarked_utf16(content: bytes) -> str | None:
    """UTF-16 shows by null bytes on one side (Latin, line ends) or by decoding to plausible text."""
    sample = content[:SAMPLE_BYTES]
    sample = sample[: len(sample) // 2 * 2]
    if len(sample) < 2 or b"\x00" not in sample:
        return None
    if sample.count(0) < STRAY_NULLS * len(sample) and _strict(content, "utf-8") is not None:
        return None
    best = max(("utf-16-le", "utf-16-be"), key=lambda encoding: _plausible(sample, encoding))
    return best if _plausible(sample, best) > 0.95 else None


def _plausible(sample: bytes, encoding: str) -> float:
    """Share of characters that stand in ordinary Latin, Greek, Cyrillic or CJK blocks."""
    text = sample.decode(encoding, errors="replace")
    return sum(map(_is_ordinary, text)) / len(text)


def _is_ordinary(char: str) -> bool:
    code = ord(char)
    if code < 0x250:
        return char in "\t\n\r" or unicodedata.category(char) != "Cc"
    return 0x370 <= code < 0x530 or 0x2000 <= code < 0x2070 or 0x3000 <= code < 0xA000 or 0xFF00 <= code < 0xFFF0


def chinese_encoding(content: bytes) -> str | None:
    """GB18030 or Big5, whichever yields more frequent characters; None if neither is convincing."""
    readings = []
    for encoding, level_one in (("gb18030", _GB_LEVEL_ONE), ("big5", _BIG5_LEVEL_ONE)):
        score = _level_one_share(content[:SAMPLE_BYTES], encoding, level_one)
        if score >= MIN_CHINESE_SCORE:
            readings.append((score, encoding))
    if not readings:
        return None
    encoding = max(readings)[1]
    return {"big5": "cp950"}.get(encoding, encoding)  # supersets in daily use


def east_asian_encoding(content: bytes) -> str | None:
    """GB18030, Big5 or Shift-JIS by the same measure; None if none is convincing. For text that is not UTF-8."""
    if _strict(content, "utf-8") is not None:
        return None
    japanese = _level_one_share(content[:SAMPLE_BYTES], "cp932", _JIS_LEVEL_ONE)
    pages = {"gb18030": _GB_LEVEL_ONE, "cp950": _BIG5_LEVEL_ONE}
    chinese = max(_level_one_share(content[:SAMPLE_BYTES], *page) for page in pages.items())
    return "cp932" if japanese >= MIN_CHINESE_SCORE and japanese > chinese else chinese_encoding(content)


def _chinese(content: bytes) -> str | None:
    encoding = chinese_encoding(content)
    # one damaged byte should not cost the whole text
    return content.decode(encoding, errors="replace") if encoding else None


def _level_one_share(sample: bytes, encoding: str, pages: tuple[tuple[int, int], ...]) -> float:
    text = sample.decode(encoding, errors="replace")
    foreign = [char for char in text if char >= "\x80"]
    if not foreign:
        return 0.0
    return sum(_on_pages(char, encoding, pages) for char in foreign) / len(foreign)


def _on_pages(char: str, encoding: str, pages: tuple[tuple[int, int], ...]) -> bool:
    try:
        code = int.from_bytes(char.encode(encoding), "big")
    except UnicodeEncodeError:
        return False
    return any(low <= code <= high for low, high in pages)


def _damaged_utf8(content: bytes) -> str | None:
    """UTF-8 with a few broken bytes, e.g. cut in the middle of a character."""
    text = content.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    intact = sum(char >= "\x80" for char in text) - broken
    return text if intact >= 10 * broken else None


def _guessed(content: bytes) -> str:
    from charset_normalizer import from_bytes  # slow to import, and rarely needed

    best = from_bytes(content[:SAMPLE_BYTES]).best()
    encoding = best.encoding if best is not None else "cp1252"
    return content.decode(encoding, errors="replace")
