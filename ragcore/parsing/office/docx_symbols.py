"""Characters of symbol fonts, which office programs store in a private area, as the characters that people see."""

from __future__ import annotations

_LATIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SYMBOL = dict(zip(map(ord, _LATIN), _GREEK, strict=True)) | dict(
    zip(
        (0xA3, 0xA5, 0xAE, 0xB0, 0xB1, 0xB3, 0xB4, 0xB8, 0xB9, 0xBB, 0xC6, 0xD1, 0xD6, 0xD7, 0xE5),
        "≤∞→°±≥×÷≠≈∅∇√⋅∑",
        strict=True,
    )
)
_WINGDINGS = {0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0x71: "☐", 0x72: "☐", 0xFC: "✓", 0xFB: "✗"}
_WINGDINGS_2 = {0x52: "☑", 0x54: "☒", 0x53: "☒", 0xA3: "☐", 0x2A: "☐", 0x50: "✓", 0x4F: "✗"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
_PRIVATE = 0xF000  # where fonts with characters of their own have them


def symbol(code: str, font: str) -> str:
    """A character by its code in hexadecimal digits; one that is not known here stays in the private area."""
    try:
        value = int(code, 16)
        return _FONTS.get(font.lower(), {}).get(value & 0xFF if value >= _PRIVATE else value) or chr(value)
    except (ValueError, OverflowError):
        return ""


def symbols(text: str, font: str) -> str:
    """Text that is set in a symbol font as what it shows; any other as it is."""
    table = _FONTS.get(font.lower())
    if table is None:
        return text
    return "".join(table.get(ord(char) & 0xFF if ord(char) >= _PRIVATE else ord(char), char) for char in text)
