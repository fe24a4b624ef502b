"""Every regular expression and every parser of text takes hostile text in linear time: 250 kB in two seconds.

Patterns are collected from the packages, each with the methods that the code calls on it; texts are made from what the
pattern itself names. Processor time is limited, so that a busy machine changes nothing.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import regex

from ragcore.errors import RagError
from ragcore.parsing import parse
from tests.forms_plugin import is_full

ROOT = Path(__file__).resolve().parents[2]
OPTIONAL = {"accounts.sign_in.ldap": "django_auth_ldap"}  # modules that need a package which may be missing
PACKAGES = ("ragcore", "accounts", "knowledge", "chat", "feedback", "evaluation", "ragsite")
CHARACTERS = 250_000 if is_full() else 4_000
WHOLE_SECONDS = 2.0
SECONDS = WHOLE_SECONDS if is_full() else 0.1
PART = 1 if is_full() else 3  # of the texts that have a bound, the short form tries a third
METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "finditer", "findall", "split"})
SCANNING = frozenset({"sub", "subn", "finditer", "findall", "split"})
FEW = (" ", "\n", "a", "1", "[", "a ")
UNITS = (*FEW, "(", "-", "1.", "中", "\t", " \n", "a\n", "<", "\\", "|", "#", "*", "`", "A ") if is_full() else FEW
MOST_VALUES = 1000  # of a table that may hold patterns; larger ones are word lists
USED_AS = {"ragcore.representations.questions._DEFINED_EN": frozenset({"match"})}  # chosen by a variable there
# What callers hand to an expression at most, where that is less than a whole text
QUESTION = 3_000  # a question may have 2,000
BOUNDS = {
    "ragcore.understanding": QUESTION,
    "ragcore.answerability.question_parts": QUESTION,
    "ragcore.extractive.comparison._THINGS": 400,  # MAX_COMPARED
    "ragcore.extractive.comparison": QUESTION,
    "ragcore.extractive.formatting": QUESTION,
    "ragcore.llm.tiers": QUESTION,
    "ragcore.text.names": QUESTION,
    "ragcore.grading.query_refinement._BRACKET": 512,  # a title
    "ragcore.cleaning.rules._SENTENCE_END": 600,  # a cover: MAX_CHARACTERS
    "ragcore.grounding.links._LINK": 20_000,  # an answer: chat.api.schemas.MAX_ANSWER_CHARACTERS
    "ragcore.grounding.facts._SENTENCE_START": 80,  # MAX_OPENING
    "ragcore.grounding.plain_urls._LABELS": 2_000,  # these and the next three: MAX_AUTHORITY
    "ragcore.grounding.plain_urls._WRITTEN": 2_000,
    "ragcore.grounding.plain_urls._HOST": 2_000,
    "ragcore.grounding.plain_urls._ASCII_HOST": 2_000,
    "ragcore.grounding.plain_urls._NAMES": 2_000,
    "ragcore.parsing.pdf.boilerplate._LEADER": 400,  # MAX_ENTRY
    "ragcore.parsing.pdf.boilerplate._ENTRY": 400,
    "ragcore.parsing.office.number_formats": 5_000,  # Excel writes 255
    "ragcore.parsing.header_facts": 300,  # MAX_LINE
    "ragcore.parsing.raised": 64,  # NEAR_CHARACTERS
}


@dataclass(frozen=True)
class Expression:
    """A pattern, where it stands, and how the code uses it."""

    pattern: Any
    place: str
    methods: frozenset[str]

    @property
    def characters(self) -> int:
        """Of a text for it."""
        bound = next((most for name, most in BOUNDS.items() if self.place.startswith(name)), 0)
        return bound // PART or CHARACTERS

    @property
    def seconds(self) -> float:
        """What has a bound may take quadratic time: a third of the text gets a ninth of the time."""
        return SECONDS if self.characters == CHARACTERS else WHOLE_SECONDS / PART**2

    def run(self, text: str) -> None:
        """All uses."""
        if self.methods & SCANNING:
            for _ in self.pattern.finditer(text):
                pass
        for name in self.methods - SCANNING:
            getattr(self.pattern, name)(text)


class TooSlowError(Exception):
    """The processor time is over."""


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raises TooSlowError. Python looks for signals while an expression runs; pytest-timeout uses another timer."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def expressions() -> tuple[Expression, ...]:
    """Compiled ones of modules and classes, and those that functions write out where they use them."""
    found: dict[tuple[str, int], Expression] = {}
    used = _uses()
    by_name: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for (_, name), methods in used.items():
        by_name[name] |= methods
    for module in _modules():
        path = str(Path(str(module.__file__)).relative_to(ROOT))
        for name, value in vars(module).items():
            methods = used.get((path, name)) or by_name.get(name)
            for pattern in _patterns(value):
                place = f"{module.__name__}.{name}"
                one = Expression(pattern, place, USED_AS.get(place) or methods or frozenset({"finditer"}))
                found.setdefault((pattern.pattern, pattern.flags), one)
        for call in _nodes(ROOT / path):
            if (written := _written(call)) is not None:
                pattern, method = written
                place = f"{module.__name__}:{getattr(call, 'lineno', 0)}"
                found.setdefault((pattern.pattern, pattern.flags), Expression(pattern, place, frozenset({method})))
    return tuple(found.values())


@cache
def _nodes(file: Path) -> tuple[ast.Attribute | ast.Call, ...]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, (ast.Attribute, ast.Call)))


def _modules() -> Iterator[Any]:
    for package in PACKAGES:
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if {"migrations", "training", "__main__"} & set(info.name.split(".")):
                continue
            if info.name not in OPTIONAL or find_spec(OPTIONAL[info.name]):
                yield importlib.import_module(info.name)


def _uses() -> defaultdict[tuple[str, str], frozenset[str]]:
    """(file, name) → methods that are called on this name there."""
    used: defaultdict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            for node in _nodes(file):
                if isinstance(node, ast.Attribute) and node.attr in METHODS:
                    value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
                    name = getattr(value, "id", None) or getattr(value, "attr", "")
                    used[str(file.relative_to(ROOT)), name] |= {node.attr}
    return used


def _patterns(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, (re.Pattern, regex.Pattern)):
        if isinstance(value.pattern, str):
            yield value
    elif depth == 3:
        return
    elif isinstance(value, dict) and len(value) < MOST_VALUES:
        yield from (one for inner in [*value, *value.values()] for one in _patterns(inner, depth + 1))
    elif isinstance(value, (list, tuple)) and len(value) < MOST_VALUES:
        yield from (one for inner in value for one in _patterns(inner, depth + 1))
    elif isinstance(value, type) and value.__module__.split(".")[0] in PACKAGES:
        yield from (one for inner in list(vars(value).values()) for one in _patterns(inner, depth + 1))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (one for field in fields(value) for one in _patterns(getattr(value, field.name, None), depth + 1))


def _written(node: ast.AST) -> tuple[Any, str] | None:
    """`re.search(r"…", …)` in a function: the pattern and the method."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
        return None
    is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
    if not (is_re and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)):
        return None
    return re.compile(node.args[0].value), node.func.attr


def _literals(pattern: str) -> list[str]:
    """Characters that a pattern names, in their order, each once."""
    found: list[str] = []

    def walk(tree: Any) -> None:
        for code, value in tree:
            if code is codes.LITERAL:
                found.append(chr(value))
            elif code is codes.IN:
                found.extend(
                    chr(v) if c is codes.LITERAL else chr(v[0]) for c, v in value if c in (codes.LITERAL, codes.RANGE)
                )
            elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
                walk(value[2])
            elif code is codes.SUBPATTERN:
                walk(value[3])
            elif code is codes.ATOMIC_GROUP:
                walk(value)
            elif code is codes.BRANCH:
                for branch in value[1]:
                    walk(branch)
            elif code in (codes.ASSERT, codes.ASSERT_NOT):
                walk(value[1])

    try:
        walk(parser.parse(pattern))
    except re.error:  # of the module regex, with what re does not know
        return []
    return list(dict.fromkeys(found))


def texts(expression: Expression) -> Iterator[tuple[str, str]]:
    """What is repeated, and the text: repeated to the end, and with something else at the end."""
    own = _literals(expression.pattern.pattern)
    units = [*UNITS, *own[:2], "".join(own)[:40]]
    if is_full():
        units += own[2:12] + [a + b for a in own[:3] for b in own[:5] if a != b]
        units += [f"a{one}" for one in own[:4]] + [f"{one} " for one in own[:4]]
    for unit in dict.fromkeys(filter(None, units)):
        text = (unit * (expression.characters // len(unit) + 1))[: expression.characters]
        yield unit, text
        if is_full():
            yield f"{unit} and an end", f"{text}\x00"


@pytest.mark.timeout(3000)
def test_no_expression_takes_longer_for_hostile_text() -> None:
    slow: dict[str, str] = {}
    for expression in expressions():
        for unit, text in texts(expression):
            try:
                with processor_time(expression.seconds):
                    expression.run(text)
            except TooSlowError:
                slow[expression.place] = f"{sorted(expression.methods)} on {unit!r}: {expression.pattern.pattern[:120]}"
                break

    assert len(expressions()) > 400
    assert not slow, "\n".join(f"{place} {fault}" for place, fault in slow.items())


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("ending", [".txt", ".md", ".html", ".csv", ".tsv", ".log", ".eml"])
def test_no_parser_of_text_takes_longer(ending: str) -> None:
    slow = []
    head = b"Subject: hostile\n\n" if ending == ".eml" else b""
    parse(head + b"a,b\n1,2\n", name=f"warm{ending}")
    for unit in (*UNITS, "<div>", "![", "**a", "_a ", "|a|\n", "- ", ">", '"') if is_full() else UNITS:
        text = (unit * CHARACTERS)[:CHARACTERS]
        try:
            with processor_time(WHOLE_SECONDS), suppress(RagError):  # nothing in it, or no file of this format
                parse(head + text.encode(), name=f"hostile{ending}")
        except TooSlowError:
            slow.append(unit)

    assert slow == []


def test_an_expression_that_is_not_linear_is_found() -> None:
    hostile = Expression(re.compile(r"(a+)+$"), "here", frozenset({"match"}))

    with pytest.raises(TooSlowError), processor_time(0.1):
        hostile.run("a" * 40 + "!")
