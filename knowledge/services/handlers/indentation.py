"""Nested lists by the rules of a handler: levels from the style of a paragraph or from how its lines begin."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from knowledge.models import DocumentVersion, HandlerRule
from knowledge.services.handlers.rules import Handler, Rule, handler_value, pattern_groups, template_fill
from ragcore.cleaning import clean
from ragcore.cleaning.nesting import nest_lists
from ragcore.errors import EmptyDocumentError
from ragcore.parsing.text import TextParser
from ragcore.types import ParsedDocument

logger = logging.getLogger(__name__)

Action, Looks = HandlerRule.Action, HandlerRule.Looks
MAX_LINE = 300  # characters of a line that rules look at


def version_nest(version: DocumentVersion, document: ParsedDocument) -> ParsedDocument:
    """A clean document with the lists that the handler of its source sees in it."""
    row = version.document.source.handler
    return document if row is None else document_nest(document, handler_value(row))


def document_nest(document: ParsedDocument, handler: Handler) -> ParsedDocument:
    """The document with nested lists by the rules for indentation; unchanged without such rules."""
    rules = [rule for rule in handler.rules if rule.action == Action.INDENTATION]
    if not rules:
        return document
    return replace(document, blocks=tuple(nest_lists(document.blocks, _Levels(rules))))


def text_nest(text: str, *, style: str, handler: Handler) -> str:
    """What becomes of a plain text whose paragraphs have a style; empty where no rule sees a list in it."""
    try:
        read = clean(TextParser().parse(text.encode(), name="sample.txt"))
    except EmptyDocumentError:
        return ""
    plain = replace(read, blocks=tuple(replace(block, style=style) for block in read.blocks))
    nested = document_nest(plain, handler)
    return nested.markdown() if nested.blocks != plain.blocks else ""


class _Levels:
    """The level of a line by the last rule that matches. A rule that takes too long is left out from then on."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = list(rules)
        self._by_style: dict[tuple[str, str], int | None] = {}  # pattern and style -> level

    def __call__(self, style: str, line: str) -> int:
        levels = (self._level(rule, style, line[:MAX_LINE]) for rule in tuple(self._rules))
        return next((level for level in reversed(list(levels)) if level is not None), 0)

    def _level(self, rule: Rule, style: str, line: str) -> int | None:
        """None where the rule does not match."""
        if rule.looks == Looks.LINE:
            return self._matched(rule, line)
        key = (rule.pattern, style)
        if key not in self._by_style:
            self._by_style[key] = self._matched(rule, style) if style else None
        return self._by_style[key]

    def _matched(self, rule: Rule, text: str) -> int | None:
        try:
            groups = pattern_groups(match=rule.match, pattern=rule.pattern, text=text)
        except TimeoutError:
            logger.warning("a rule was given up after its time: %s", rule.pattern)
            self._rules.remove(rule)
            return None
        value = template_fill(rule.value, groups) if groups is not None else ""
        return min(int(value), 9) if value.isascii() and value.isdecimal() else None
