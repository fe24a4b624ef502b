"""Text that its author has struck through, as Markdown: `~~40 W~~ 46 W`.

Left without a mark, a value that no longer holds would be quoted as one that does.
"""

from __future__ import annotations

import re

_BEGIN, _END = "\ue0d0", "\ue0d1"  # for private use: they stand around a struck run until its line is whole
_NEIGHBOURS = re.compile(rf"{_END}(\s*){_BEGIN}")
_STRETCH = re.compile(rf"{_BEGIN}([^{_BEGIN}{_END}]*+){_END}")
# Beside a letter, Markdown reads a mark only before and behind a letter or figure: other signs stay outside, those of
# a figure get a space
_CORE = re.compile(r"(?P<lead>\W*)(?P<core>\w(?:.*\w)?)(?P<trail>.*)", re.DOTALL)
_SIGN_BEFORE = re.compile(r"[-+\u2212\u2013\u00b1<>\u2264\u2265\u2248$\u20ac\u00a3\u00a5]\Z")  # of a figure
_SIGN_BEHIND = re.compile(r"\s?[%\u2030\u00b0\u2103\u2126]")


def struck_run(text: str) -> str:
    """A run of characters that is struck through; `with_struck_marks` writes its marks."""
    return f"{_BEGIN}{text}{_END}" if text else ""


def with_struck_marks(text: str) -> str:
    """A line with Markdown's marks around the words of its struck runs; runs that follow each other are one."""
    if _BEGIN not in text:
        return text
    return _STRETCH.sub(_marked, _NEIGHBOURS.sub(r"\1", text))


def _marked(stretch: re.Match[str]) -> str:
    if "`" in stretch[1] and "\n" not in stretch[1]:  # whose marks must stay at its ends
        return f"~~{stretch[1].strip()}~~"
    parts = _CORE.fullmatch(stretch[1])
    if parts is None or "~~" in stretch[1] or "](" in stretch[1]:  # signs alone, or a link or picture inside
        return stretch[1]
    lead, core, trail = parts["lead"], parts["core"], parts["trail"]
    before, after = stretch.string[: stretch.start()] + lead, trail + stretch.string[stretch.end() :]
    if sign := _SIGN_BEFORE.search(lead):
        lead, core = lead[: sign.start()] + " " * before[-2:-1].isalnum(), sign[0] + core
    if sign := _SIGN_BEHIND.match(trail):
        core, trail = core + sign[0], " " * after[sign.end() :][:1].isalnum() + trail[sign.end() :]
    lines = core.split("\n")
    return lead + "\n".join(f"~~{line.strip()}~~" if line.strip() else "" for line in lines) + trail
