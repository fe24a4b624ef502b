"""Terms of the lexicon in an answer: marked where they first stand, with their other names."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragcore.text.lexicon import TermLexicon
from ragcore.text.scripts import CJK
from ragcore.text.whole_names import closed_up

MOST_TERMS = 40  # marked in one answer
MOST_NAMES = 4  # other names that are shown of one
MOST_CHARACTERS = 20_000  # of an answer that are looked through
SHORT_CAPITALS = 6  # letters of an abbreviation up to which its capitals count
_TAG = re.compile(r"<(/?)([a-z0-9]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>", re.IGNORECASE)
_UNMARKED = frozenset({"a", "button", "code", "h1", "h2", "h3", "h4", "h5", "h6", "math", "pre"})
_CJK = re.compile(f"[{CJK}]")
_SCRIPTS = re.compile(f"[{CJK}]+|[^{CJK}]+")  # the parts of a name by their script


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTerm:
    """A term as it may be written, and its other names: long form, abbreviation, translations, synonyms."""

    spellings: Sequence[str]
    names: Sequence[str]


def explained_terms(lexicon: TermLexicon | None, text: str) -> list[ExplainedTerm]:
    """The terms of a lexicon that a text names and that have another name to tell."""
    if lexicon is None:
        return []
    terms = []
    for mention in lexicon.mentions(text[:MOST_CHARACTERS])[:MOST_TERMS]:
        names = [other.name for other in lexicon.other_names(mention.key)[:MOST_NAMES]]
        spellings = [name for name, _relation, _entry in lexicon.keys[mention.key]]
        if names:
            terms.append(ExplainedTerm(spellings=tuple(dict.fromkeys(spellings)), names=tuple(names)))
    return terms


def mark_terms(markup: str, terms: Sequence[ExplainedTerm]) -> str:
    """Sanitised HTML in which each term is marked once, at its first place outside headings, links, code and formulas.

    The mark is `<span class="term" tabindex="0" data-term="other names">`.
    """
    if not terms:
        return markup
    by_group = {f"t{number}": term for number, term in enumerate(terms)}
    expression = re.compile("|".join(f"(?P<{group}>{_alternatives(term)})" for group, term in by_group.items()))
    groups_marked: set[str] = set()
    out: list[str] = []
    inside: list[str] = []
    end = 0
    for tag in _TAG.finditer(markup):
        out += [_marked(markup[end : tag.start()], expression, by_group, groups_marked, is_open=not inside), tag[0]]
        end = tag.end()
        name = tag[2].lower()
        if name in _UNMARKED and not tag[1]:
            inside.append(name)
        elif inside and tag[1] and inside[-1] == name:
            inside.pop()
    return "".join([*out, _marked(markup[end:], expression, by_group, groups_marked, is_open=not inside)])


def _marked(
    text: str,
    expression: re.Pattern[str],
    terms: Mapping[str, ExplainedTerm],
    groups_marked: set[str],
    *,
    is_open: bool,
) -> str:
    def shown(match: re.Match[str]) -> str:
        group = str(match.lastgroup)
        if group in groups_marked:
            return match[0]
        groups_marked.add(group)
        names = html.escape(" · ".join(terms[group].names))
        return f'<span class="term" tabindex="0" data-term="{names}">{match[0]}</span>'

    return expression.sub(shown, text) if is_open and text.strip() else text


def _alternatives(term: ExplainedTerm) -> str:
    return "|".join(map(_expression, sorted(term.spellings, key=len, reverse=True)))


def _expression(name: str) -> str:
    """A name in HTML: Latin words as a whole, in any case unless it is a short abbreviation; Chinese anywhere.

    Of a name in both scripts there may be spaces between them, or none: RRC 连接 and RRC连接.
    """
    if _CJK.search(name):
        parts = r"\s*".join(_words(part) for part in _SCRIPTS.findall(closed_up(name)))
        before = "(?<![A-Za-z0-9])" if name[0].isascii() else ""
        after = "(?![A-Za-z0-9])" if name[-1].isascii() else ""
        return f"{before}(?i:{parts}){after}"
    words = _words(name)
    is_exact = name.isupper() and len(name) <= SHORT_CAPITALS
    return rf"(?<![\w-]){words}(?![\w-])" if is_exact else rf"(?<![\w-])(?i:{words})(?![\w-])"


def _words(name: str) -> str:
    return r"\s+".join(re.escape(html.escape(word, quote=False)) for word in name.split())
