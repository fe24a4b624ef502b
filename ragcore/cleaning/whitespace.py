"""Tabs, runs of spaces and blank lines (D25)."""

from __future__ import annotations

import re

_TAB = re.compile(r"[ ]*\t[ \t]*")
# Line breaks that some program wrote as backslash and letter; "\\n" alone may be part of a path
_ESCAPED_BREAK = re.compile(r"(?:\\r\\n(?:\\t)*)+")
_SPACES = re.compile(r"(?<=\S)[ \u3000]{2,}(?=\S)")
_TRAILING = re.compile(r"[ \t\u3000]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
_BESIDE_CJK_STOP = re.compile(
    r"(?<=[，。？！：；、）】》」』”]) +(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff]) +(?=[，。？！：；、）】》」』])"
)


def tidy_whitespace(text: str) -> str:
    """One space where there were many, at most one blank line; the indentation of lines stays.

    Spaces beside Chinese punctuation are left over from type-setting and go.
    """
    text = _ESCAPED_BREAK.sub("\n", text)
    text = _TAB.sub(lambda found: _untabbed(text, found), text)
    text = _SPACES.sub(" ", _TRAILING.sub("", text))
    return _BLANK_LINES.sub("\n\n", _BESIDE_CJK_STOP.sub("", text)).strip("\n")


def tidy_code(text: str) -> str:
    """Code keeps its white space, except behind the last character of a line."""
    return _TRAILING.sub("", text).strip("\n")


def _untabbed(text: str, found: re.Match[str]) -> str:
    """A tab at the beginning of a line indents, anywhere else it separates."""
    at_line_start = found.start() == 0 or text[found.start() - 1] == "\n"
    return found[0].replace("\t", "    ") if at_line_start else " "
