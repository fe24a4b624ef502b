"""Bytes to text when nobody says which encoding they have.

Order: byte order mark, UTF-16 without one, strict UTF-8, a Chinese, Japanese or Korean encoding, damaged UTF-8, then
charset-normalizer. The encodings overlap so far that several usually decode; what tells them apart is that real text
consists of frequent characters, and the standards put those on their "level 1" pages. Lines of nothing but ASCII say
nothing, so that those with other bytes are looked at, wherever in the file they stand.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from ragcore.errors import CorruptDocumentError

SAMPLE_BYTES = 65_536
MIN_FREQUENT_SCORE = 0.8  # share of frequent characters from which an encoding is believed
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
_FOREIGN = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")

# punctuation and symbols, then the frequent characters, as two-byte codes of the encoding itself
_GB_LEVEL_ONE = ((0xA1A1, 0xA3FE), (0xB0A1, 0xD7FE))
_BIG5_LEVEL_ONE = ((0xA140, 0xA3BF), (0xA440, 0xC67E))
_JIS_LEVEL_ONE = ((0x8140, 0x84BE), (0x889F, 0x9872))  # with kana
_EUC_JP_FREQUENT = ((0xA1A1, 0xA2FE), (0xA4A1, 0xA5F6), (0xB0A1, 0xCFD3))
_EUC_KR_FREQUENT = ((0xA1A1, 0xA3FE), (0xB0A1, 0xC8FE))  # Hangul, no Chinese characters
# The encoding by which characters are looked up, its superset in daily use, the frequent characters, and from how many
# of them on it is told from those before it: all of a few words may be frequent in several.
_EAST_ASIAN = (
    ("big5", "cp950", _BIG5_LEVEL_ONE, 1),
    ("gb18030", "gb18030", _GB_LEVEL_ONE, 1),
    ("cp932", "cp932", _JIS_LEVEL_ONE, 1),
    ("euc_jp", "euc_jp", _EUC_JP_FREQUENT, 20),
    ("euc_kr", "cp949", _EUC_KR_FREQUENT, 20),
)


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
    return _east_asian(content) or _damaged_utf8(content) or _guessed(content)


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


def east_asian_encoding(content: bytes) -> str | None:
    """The Chinese, Japanese or Korean encoding with most frequent characters; None if none convinces, or for UTF-8.

    As a superset in daily use: "gb18030", "cp950", "cp932", "euc_jp", "cp949". At equal evidence the last one wins.
    """
    if _strict(content, "utf-8") is not None:
        return None
    sample = _telling_sample(content)
    best, chosen = MIN_FREQUENT_SCORE, None
    for encoding, superset, pages, least in _EAST_ASIAN:
        score, count = _frequent_share(sample, encoding, pages)
        if score >= best and count >= least:
            best, chosen = score, superset
    return chosen


def _east_asian(content: bytes) -> str | None:
    encoding = east_asian_encoding(content)
    # one damaged byte should not cost the whole text
    return content.decode(encoding, errors="replace") if encoding else None


def _telling_sample(content: bytes) -> bytes:
    """The first SAMPLE_BYTES of the lines that are not ASCII, each from its first such byte on."""
    lines: list[bytes] = []
    size = 0
    for line in content.split(b"\n"):
        if line.isascii():
            continue
        at = _FOREIGN.search(line)
        lines.append(line[at.start() if at else 0 :][: SAMPLE_BYTES - size])
        size += len(lines[-1])
        if size >= SAMPLE_BYTES:
            break
    return b"\n".join(lines)


def _frequent_share(sample: bytes, encoding: str, pages: tuple[tuple[int, int], ...]) -> tuple[float, int]:
    """The share of frequent characters among those beyond ASCII, and how many these are."""
    text = sample.decode(encoding, errors="replace")
    foreign = [char for char in text if char >= "\x80"]
    if not foreign:
        return 0.0, 0
    return sum(_on_pages(char, encoding, pages) for char in foreign) / len(foreign), len(foreign)


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

    head = content[:SAMPLE_BYTES]
    sample = _telling_sample(content) if head.isascii() else head
    best = from_bytes(sample, cp_exclusion=["utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_7"]).best()
    encoding = best.encoding if best is not None else "cp1252"
    return content.decode(encoding, errors="replace")
