"""Filters of SCIM (RFC 7644, 3.4.2.2), read into a tree: `userName eq "mei" and (title co "a" or active eq true)`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from accounts.scim.attributes import plain_path
from accounts.scim.errors import ScimError
from accounts.storable import storable_bytes

MAX_CHARACTERS = 2_000
MAX_TERMS = 100  # comparisons and parentheses of a filter
TOKEN = re.compile(r'\s*(?:(?P<mark>[()\[\]])|(?P<text>"(?:[^"\\]|\\.)*+")|(?P<word>[^\s()\[\]"]+))')
OPERATORS = frozenset({"eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """`path operator value`; `path` as of `plain_path`, no value with the operator `pr`."""

    path: str
    operator: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Joined:
    """All terms, or any of them."""

    by: Literal["and", "or"]
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """What does not match the term."""

    term: Term


@dataclass(frozen=True, slots=True)
class OfItems:
    """`emails[type eq "work"]`: resources with an item of the attribute that matches the term."""

    path: str
    term: Term


Term = Comparison | Joined | Negated | OfItems


def filter_parsed(text: str) -> Term:
    """The tree of a filter. Raises ScimError (invalidFilter)."""
    if len(text) > MAX_CHARACTERS:
        raise _invalid(f"it has more than {MAX_CHARACTERS} characters")
    return _Reader(text).whole()


def matches(term: Term, item: Mapping[str, Any]) -> bool:
    """Whether an item of a multi-valued attribute matches; texts are compared without case."""
    if isinstance(term, Joined):
        return (all if term.by == "and" else any)(matches(each, item) for each in term.terms)
    if isinstance(term, Negated):
        return not matches(term.term, item)
    if isinstance(term, OfItems):
        raise _invalid("items have no items")
    value = next((each for name, each in item.items() if name.lower() == term.path), None)
    return _compared(term, value)


def _compared(term: Comparison, value: Any) -> bool:
    if term.operator == "pr":
        return value not in (None, "", [])
    first, other = (str(each).lower() if each is not None else "" for each in (value, term.value))
    ways = {
        "eq": first == other,
        "ne": first != other,
        "co": other in first,
        "sw": first.startswith(other),
        "ew": first.endswith(other),
        "gt": first > other,
        "ge": first >= other,
        "lt": first < other,
        "le": first <= other,
    }
    return ways[term.operator]


def _invalid(reason: str) -> ScimError:
    return ScimError(f"The filter cannot be used: {reason}.", scim_type="invalidFilter")


class _Reader:
    """Recursive descent over the tokens; `or` binds less than `and`, which binds less than `not`."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        self.terms = 0
        end, text = 0, text.rstrip()
        while end < len(text):
            match = TOKEN.match(text, end)
            if match is None:
                raise _invalid(f"no term begins at character {end + 1}")
            self.tokens.append(match[match.lastgroup or "word"])
            end = match.end()
        self.at = 0

    def whole(self) -> Term:
        term = self._either()
        if self.at < len(self.tokens):
            raise _invalid(f"{self.tokens[self.at]!r} is not expected there")
        return term

    def _either(self) -> Term:
        terms = [self._both()]
        while self._takes("or"):
            terms.append(self._both())
        return terms[0] if len(terms) == 1 else Joined("or", tuple(terms))

    def _both(self) -> Term:
        terms = [self._term()]
        while self._takes("and"):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else Joined("and", tuple(terms))

    def _term(self) -> Term:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise _invalid(f"it has more than {MAX_TERMS} terms")
        if self._takes("not"):
            return Negated(self._inside("(", ")"))
        if self._peek() == "(":
            return self._inside("(", ")")
        path = self._next("an attribute")
        if self._peek() == "[":
            return OfItems(plain_path(path), self._inside("[", "]"))
        operator = self._next("an operator").lower()
        if operator not in OPERATORS:
            raise _invalid(f"{operator!r} is no operator")
        return Comparison(plain_path(path), operator, None if operator == "pr" else self._value())

    def _inside(self, opening: str, closing: str) -> Term:
        if self._next(opening) != opening:
            raise _invalid(f"{opening!r} is missing")
        term = self._either()
        if self._next(closing) != closing:
            raise _invalid(f"{closing!r} is missing")
        return term

    def _value(self) -> Any:
        token = self._next("a value")
        try:
            value = json.loads(token if token.startswith('"') else token.lower())
        except ValueError:
            raise _invalid(f"{token!r} is no value; texts stand between quotation marks") from None
        if storable_bytes(value) is None or isinstance(value, (dict, list)):
            raise _invalid("it has a value that cannot be looked for")
        return value

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _takes(self, word: str) -> bool:
        if self._peek().lower() != word:
            return False
        self.at += 1
        return True

    def _next(self, expected: str) -> str:
        token = self._peek()
        if not token:
            raise _invalid(f"it ends where {expected} is expected")
        self.at += 1
        return token
