"""No expression of a lexer that colours code holds the interpreter for long, whatever the code is."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib import import_module

import pytest
from pygments.lexers import get_lexer_by_name

from chat.rendering import code
from chat.rendering.code import LANGUAGES, MAX_CHARACTERS, MAX_LINE, MAX_LINES, highlighted_code, language_lexer
from tests.forms_plugin import is_full
from tests.security.expression_attacks import attacks
from tests.security.test_linear_expressions import TooSlowError, processor_time

MOST_SECONDS = 0.1  # that one match may hold the interpreter, and with it the event loop
WIDE_SPACE = f"{' ' * (MAX_CHARACTERS // MAX_LINES - 1)}\n"  # most white space in most lines
UNITS = ("\n", " ", "\t", "a", "a ", "1", "(", "<", "/", '"', "'", "\\", "`", "{", "#", "%0", "a.", "- ", '"\\', " \n")


def expressions(lexer: object) -> Iterator[re.Pattern[str]]:
    rules = [rule for state in getattr(lexer, "_tokens", {}).values() for rule in state]
    yield from dict.fromkeys(rule[0].__self__ for rule in rules)


def hostile_codes(pattern: re.Pattern[str]) -> set[str]:
    """Codes within the limits that follow an expression's repeats."""
    texts = set()
    for before, body in attacks(pattern):
        texts.add(_within_limits(before + body * (MAX_CHARACTERS // len(body) + 1)))
        if body.isspace():
            texts.add(_within_limits(before + WIDE_SPACE * MAX_LINES))
    return texts


def _within_limits(text: str) -> str:
    lines = [line[at : at + MAX_LINE] for line in text.split("\n") for at in range(0, len(line) or 1, MAX_LINE)]
    return "\n".join(lines[:MAX_LINES])[:MAX_CHARACTERS]


def slow_expressions(lexer: object) -> dict[str, str]:
    """Expression -> the beginning of a code for which one match takes longer than MOST_SECONDS."""
    slow = {}
    for pattern in expressions(lexer):
        for text in hostile_codes(pattern):
            try:
                with processor_time(MOST_SECONDS):
                    pattern.match(text)
                    pattern.match(f"{text[:-1]}\x00")
            except TooSlowError:
                slow[pattern.pattern[:100]] = text[:30]
                break
    return slow


@pytest.mark.timeout(600)
def test_no_expression_of_a_listed_language_is_slow() -> None:
    lexers = {language.lexer: language_lexer(language) for language in LANGUAGES}
    slow = {name: found for name, lexer in lexers.items() if (found := slow_expressions(lexer))}

    assert slow == {}
    assert sum(len(list(expressions(lexer))) for lexer in lexers.values()) > 1000


@pytest.mark.parametrize("name", ["terraform", "easytrieve", "batch"])
def test_slow_lexers_are_found(name: str) -> None:
    assert slow_expressions(get_lexer_by_name(name))


@pytest.mark.parametrize("language", code.SLOW_RULES)
def test_every_rule_that_is_taken_out_is_in_pygments_and_out_of_the_lexer(language: str) -> None:
    """A release of Pygments that writes a rule anew is noticed: its beginning is found nowhere."""
    module = next(one.module for one in LANGUAGES if one.lexer == language)
    original = type("Original", (getattr(import_module(f"pygments.lexers.{module}"), language),), {})()

    for beginning in code.SLOW_RULES[language]:
        assert any(pattern.pattern.startswith(beginning) for pattern in expressions(original)), beginning
    assert not [
        pattern
        for pattern in expressions(language_lexer(next(one for one in LANGUAGES if one.lexer == language)))
        if pattern.pattern.startswith(code.SLOW_RULES[language])
    ]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_no_code_takes_longer_than_its_limit_in_any_language() -> None:
    """Also lexers without expressions, and what one lexer embeds of another."""
    slow = []
    for language in LANGUAGES:
        highlighted_code("warm", language.names[0])
        for unit in UNITS if is_full() else UNITS[::8]:
            text = _within_limits(unit * MAX_CHARACTERS)
            start = time.thread_time()
            highlighted_code(text, language.names[0])
            if time.thread_time() - start > code.MAX_SECONDS + 2 * MOST_SECONDS:
                slow.append((language.lexer, unit))

    assert slow == []
