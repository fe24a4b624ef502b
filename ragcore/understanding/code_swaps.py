"""The question before, about another code: "and for the M?" after one about the QX20-E, 那3.2.1呢 after V3.3.0."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"(?:19|20)\d\d\s?[Qq][1-4]|[Qq][1-4]\s?(?:19|20)\d\d|[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*")
_NUMBERED = re.compile(r"(\d+)(号?[\u4e00-\u9fff]{1,3})")
_ARTICLE = re.compile(r"^(?:the|a|an|version|release|model|type)\s+", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z]+|\d+")
_CUTS = re.compile(r"[-_/]")


def swap_code(new: str, earlier: str) -> str | None:
    """The earlier question with `new` in the place of a code of the same form; None where it has none.

    A part of a code may be told alone: its end, or a version without its "V".
    """
    name = _ARTICLE.sub("", new.strip()).strip()
    if numbered := _NUMBERED.fullmatch(name):
        old = re.search(rf"\d+(?={re.escape(numbered[2])})", earlier)
        is_other = old is not None and old.group() != numbered[1]
        return earlier[: old.start()] + numbered[1] + earlier[old.end() :] if old and is_other else None
    if _TOKEN.fullmatch(name) is None or not (any(map(str.isdigit, name)) or len(name) == 1):
        return None
    for start, end in _spans(earlier):
        old_text = earlier[start:end]
        if _shape(old_text) == _shape(name) and old_text.lower() != name.lower():
            return earlier[:start] + name + earlier[end:]
    return None


def _spans(text: str) -> list[tuple[int, int]]:
    """Codes of a text, and then their ends behind a hyphen or a "V", longer ones first."""
    whole = [m.span() for m in _TOKEN.finditer(text) if any(map(str.isdigit, m.group()))]
    ends = [(start + cut.end(), end) for start, end in whole for cut in _CUTS.finditer(text[start:end])]
    versions = [(start + 1, end) for start, end in whole if re.match(r"[Vv]\d", text[start:end])]
    return [*whole, *sorted(ends, key=lambda span: span[0] - span[1]), *versions]


def _shape(text: str) -> str:
    """Runs of letters and digits, whatever their length: "QX20-E" and "QC7-M" have the same."""
    return _RUN.sub(lambda run: "0" if run.group().isdigit() else "a", text.lower().replace(" ", ""))
