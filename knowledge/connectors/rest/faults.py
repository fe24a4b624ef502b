"""What is wrong with a description, in words of its author: line and key, what is wrong, and what to do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from django.utils.translation import gettext as _
from jmespath.exceptions import JMESPathError

from accounts.value_faults import NO_TEXT

MOST_TOLD = 10
SHOWN = 40  # characters of what is quoted
_WHERE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*=")
Place = Sequence[str]


# ── what is no TOML ─────────────────────────────────────────────────────────────────────────────


def toml_told(text: str, problem: Exception) -> str:
    """Where a text ends to be TOML, the line itself, and what usually helps."""
    where = _WHERE.search(str(problem))
    lines = text.splitlines() or [""]
    number = int(where[1]) if where and where[1] else len(lines)
    line = lines[min(number, len(lines)) - 1].strip()
    values = {"line": number, "text": line[:SHOWN], "help": _toml_help(str(problem))}
    return _("Line %(line)s, “%(text)s”: %(help)s") % values


def _toml_help(problem: str) -> str:
    if "Illegal character" in problem or "Expected '\"'" in problem or 'Expected "\'"' in problem:
        return _("A text has no end. It stands between quotation marks on one line; longer ones between three of them.")
    if "Invalid value" in problem:
        return _(
            "The value cannot be read. Texts stand between quotation marks; other values are numbers, true, false."
        )
    if "overwrite" in problem or "twice" in problem or "already" in problem:
        return _("This name is there twice. Keep one of them; a further list begins with [[lists]].")
    if "inline table" in problem:
        return _("The braces have no end. What begins with { ends with } on the same line.")
    if "array" in problem or "table declaration" in problem:
        return _("A bracket has no end.")
    if "Unescaped" in problem:
        return _("In a text between double quotation marks a backslash is written twice; or use single ones.")
    return _("This is not a line of TOML. A line is a name, an equals sign and a value, or a name in brackets.")


# ── what TOML says, and descriptions do not ─────────────────────────────────────────────────────


def expression_told(expression: str, problem: Exception) -> str:
    """Where an expression ends to be JMESPath."""
    at = getattr(problem, "lex_position", None)
    at = getattr(problem, "lexer_position", None) if at is None else at
    rest = expression[at:] if isinstance(at, int) and isinstance(problem, JMESPathError) else ""
    if not rest:
        return _("“%(expression)s” is not a JMESPath expression: it is not complete.") % {
            "expression": expression[:SHOWN]
        }
    return _("“%(expression)s” is not a JMESPath expression: it cannot be read from “%(rest)s” on.") % {
        "expression": expression[:SHOWN],
        "rest": rest[:SHOWN],
    }


def faults_told(
    text: str, values: Mapping[str, Any], faults: Iterable[tuple[Place, str]], *, keys: Collection[str]
) -> list[str]:
    """A sentence for each of the first faults; `keys`: all that descriptions know, for what was mistyped."""
    sentences = []
    for place, words in list(faults)[:MOST_TOLD]:
        path_words = _shown_place(values, place)
        words = _with_help(words, place, keys)
        values_of_line = {"line": line_of(text, place), "place": path_words, "words": words.rstrip(".。")}
        sentences.append(_("Line %(line)s, %(place)s: %(words)s") % values_of_line if path_words else words)
    return sentences


def _with_help(words: str, place: Place, keys: Collection[str]) -> str:
    """What to do, where the words of other forms do not say it."""
    if words == _(NO_TEXT):
        return _("It has to be a text: put it between quotation marks.")
    if words == _("Unknown field."):
        alike = get_close_matches(place[-1], keys, n=1)
        if alike == [place[-1]]:
            return _("This key does not belong here.")
        return _("There is no such key. Is “%(key)s” meant?") % {"key": alike[0]} if alike else _("Unknown key.")
    return words


def _shown_place(values: Any, place: Place) -> str:
    """Lists by their names: lists.courses.request; by number where they have none."""
    path_words = []
    for part in place:
        if isinstance(values, list) and part.isdigit():
            values = values[int(part)] if int(part) < len(values) else None
            name = values.get("name") if isinstance(values, dict) else None
            path_words.append(name if isinstance(name, str) and name else str(int(part) + 1))
        else:
            values = values.get(part) if isinstance(values, dict) else None
            path_words.append(part)
    return ".".join(path_words)


def line_of(text: str, place: Place) -> int:
    """The line on which a key stands, or what it should stand in; of a part in braces that of the braces."""
    lines = text.splitlines()
    line, end, path = 0, _section_end(lines, 0), list[str]()
    for part in place:
        if part.isdigit():
            headers = [number for number, name in _headers(lines) if name == ".".join(path)]
            if int(part) < len(headers):
                line = headers[int(part)]
                end = _block_end(lines, line, ".".join(path))
            continue
        path.append(part)
        below = [number for number, name in _headers(lines) if name == ".".join(path) and line <= number < end]
        section_end = _section_end(lines, line + 1 if _HEADER.match(lines[line] if lines else "") else line)
        keys = [number for number in range(line, min(end, section_end)) if _is_key(lines[number], part)]
        if keys:
            line = keys[0]
        elif below:
            line, end = below[0], max(end, _section_end(lines, below[0] + 1))
    return line + 1


def _headers(lines: Sequence[str]) -> list[tuple[int, str]]:
    matches = ((number, _HEADER.match(line)) for number, line in enumerate(lines))
    return [(number, match[1].replace('"', "").replace(" ", "")) for number, match in matches if match]


def _is_key(line: str, name: str) -> bool:
    match = _KEY.match(line)
    return match is not None and match[1] == name


def _section_end(lines: Sequence[str], start: int) -> int:
    """The next header, or the end."""
    return next((number for number, _name in _headers(lines) if number >= start), len(lines))


def _block_end(lines: Sequence[str], start: int, name: str) -> int:
    """Where a table of an array ends: its own tables begin with its name."""
    after = (number for number, other in _headers(lines) if number > start and not other.startswith(f"{name}."))
    return next(after, len(lines))
