"""Texts that make a regular expression slow, built from the expression: what stands before each of its repeats, and
then what the repeat takes, many times."""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
MANY = 8  # a repeat that takes fewer is part of what stands before another one
MOST_BRANCHES = 40
_CLASSES = {
    codes.CATEGORY_DIGIT: (r"\d", "1"),
    codes.CATEGORY_NOT_DIGIT: (r"\D", "a"),
    codes.CATEGORY_SPACE: (r"\s", " \n"),
    codes.CATEGORY_NOT_SPACE: (r"\S", "a"),
    codes.CATEGORY_WORD: (r"\w", "a1"),
    codes.CATEGORY_NOT_WORD: (r"\W", "-"),
}
_TRIED = "a \n1\"'/\\*-(<"  # where anything but some characters is taken


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """What stands before a repeat, and what it takes."""
    yield from dict.fromkeys(_repeats(parser.parse(pattern.pattern, pattern.flags), ""))


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    for code, value in tree:
        if code in REPEATS:
            if value[1] > MANY:
                yield from ((before, body) for body in _bodies(value[2]) if body)
            yield from _repeats(value[2], before)
            before += _example(value[2]) * value[0]
        elif code is codes.BRANCH:
            for branch in value[1][:MOST_BRANCHES]:
                yield from _repeats(branch, before)
            before += _example(value[1][0])
        elif (inner := _inner(code, value)) is not None:
            yield from _repeats(inner, before)
            before += _example(inner) if code not in (codes.ASSERT, codes.ASSERT_NOT) else ""
        else:
            before += (_characters(code, value) or [""])[0]


def _inner(code: Any, value: Any) -> Any:
    """The expression in a group; None for what is none."""
    if code is codes.SUBPATTERN:
        return value[3]
    if code is codes.ATOMIC_GROUP:
        return value
    return value[1] if code in (codes.ASSERT, codes.ASSERT_NOT) and value[0] == 1 else None


def _bodies(tree: Any) -> list[str]:
    """What one round of a repeat may take."""
    if len(tree) == 1:
        code, value = tree[0]
        if characters := _characters(code, value):
            return characters
        if code is codes.BRANCH:
            return [_example(branch) for branch in value[1]][:MANY]
        if (inner := _inner(code, value)) is not None:
            return _bodies(inner)
    return [_example(tree)]


def _example(tree: Any) -> str:
    """A text that the expression takes, or nearly."""
    parts: list[str] = []
    for code, value in tree:
        if code in REPEATS:
            parts.append(_example(value[2]) * max(value[0], 1))
        elif code is codes.BRANCH:
            parts.append(_example(value[1][0]))
        elif code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            parts.append(_example(_inner(code, value)))
        else:
            parts += _characters(code, value)[:1]
    return "".join(parts)


def _characters(code: Any, value: Any) -> list[str]:
    """Some characters that a part takes; none where it takes no single character."""
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return [one for one in _TRIED if ord(one) != value][:3]
    if code is codes.ANY:
        return ["a", " "]
    if code is not codes.IN:
        return []
    if value[0][0] is codes.NEGATE:
        return [one for one in _TRIED if not any(_takes(part, one) for part in value[1:])][:5]
    found: list[str] = []
    for kind, each in value:
        found += _CLASSES[each][1] if kind is codes.CATEGORY else [chr(each if kind is codes.LITERAL else each[0])]
    return list(dict.fromkeys(found))[:5]


def _takes(part: Any, character: str) -> bool:
    kind, value = part
    if kind is codes.CATEGORY:
        return re.match(_CLASSES[value][0], character) is not None
    return bool(value[0] <= ord(character) <= value[1] if kind is codes.RANGE else value == ord(character))
