"""Terms of a question under their other names: which ones may stand there, and how they are put into the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

from ragcore.ports import Tokenizer
from ragcore.stage_ports import Lexicon
from ragcore.text.lexicon import is_meant
from ragcore.text.matching import keywords
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import longest_first, read_sections
from ragcore.understanding.chinese_mentions import Unit, groups
from ragcore.understanding.lexicon import term_spans

Span = tuple[int, int]

_ARTICLE = re.compile(r"\b(?P<article>an?)(?P<space>\s+)\Z", re.I)
_AN_WORD = re.compile(r"[ai]|e(?!u)|o(?!ne\b|nce)|u(?!ni[^mn]|s[aeiu]|t[eio]|biq|r[aeo])|ho(?:ur|nest|nour)", re.I)
_AN_LETTER = re.compile(r"[AEFHILMNORSX](?![a-z])|e(?=[A-Z])")  # letters that are read one by one: an RRU, an eNodeB
_NEXT_WORD = re.compile(r"[ -]([A-Za-z]+)")
_SPELT = re.compile(r"[a-z]?[A-Z](?![a-z])")


def tongue_of(text: str) -> str:
    """ "zh" or "en", the languages that rules write."""
    return "zh" if language_of(text) == "zh" else "en"


def is_abbreviation(term: str) -> bool:
    """Whether a term is a short one of capitals and digits."""
    return 1 < len(term) <= 8 and term.upper() == term and term.isascii() and any(c.isalpha() for c in term)


def known_terms(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[Span]:
    """Places of terms that the lexicon knows, longest first, none over another, in order. Usual words count only in
    capitals, see `is_meant`."""
    if lexicon is None:
        return []
    places: list[Span] = []
    for start, end in sorted(term_spans(query, tokenizer), key=lambda span: span[0] - span[1]):
        free = all(end <= other or start >= last for other, last in places)
        if free and is_meant(query[start:end], query) and lexicon.alternatives(query[start:end]):
            places.append((start, end))
    return sorted(places)


def names_of_terms(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> dict[Span, list[str]]:
    """The other names that each known term may have in this question, the usual one first; [] where none may.

    Left out are names of a generation of networks that the question does not speak of (no eNodeB in a question about
    5G), names that two of its terms share ("the difference between X and X"), and all names of a term of which the
    question has another name itself. Of a term with several meanings those names come alone that share a word with the
    rest of the question. A part of a longer word keeps its language: 频谱分析仪 is no "spectrum分析仪".
    """
    if lexicon is None:
        return {}
    of_query, every = generations(query), dict[Span, list[str]]()
    for start, end in known_terms(query, tokenizer, lexicon):
        names, rest = lexicon.alternatives(query[start:end]), f"{query[:start]}\n{query[end:]}"
        is_explained = any(_stands_in(name, rest) for name in names)
        every[start, end] = [] if is_explained else [name for name in names if generations(name) <= of_query]
    every |= {at: [name for name in every[at] if not _mixes(query, at, name)] for at in _parts(query, every, tokenizer)}
    by_term = {query[start:end].casefold(): names for (start, end), names in every.items()}
    counts = Counter(name for names in by_term.values() for name in {name.casefold() for name in names})
    return {
        (start, end): _of_this_meaning(
            [name for name in names if counts[name.casefold()] == 1], query[:start] + " " + query[end:], tokenizer
        )
        for (start, end), names in every.items()
    }


def ordered_names(names: Sequence[str], query: str) -> list[str]:
    """Names in the language of the question first, full forms before abbreviations."""
    tongue = tongue_of(query)
    return sorted(names, key=lambda name: (tongue_of(name) != tongue, is_abbreviation(name)))


def full_name(names: Sequence[str], query: str) -> str:
    """The first name that is written out, in the language of the question where there is one; "" without any."""
    return next((name for name in ordered_names(names, query) if not name.isupper()), "")


def put_names(query: str, names: Mapping[Span, str]) -> str:
    """The question with these names in the places of its terms.

    A Chinese name in a Chinese question stands without spaces, and an English article fits the name behind it.
    """
    text = query
    for (start, end), name in sorted(names.items(), reverse=True):
        before, after = text[:start], text[end:]
        if name.isascii() and any(other_end == start and other.isascii() for (_, other_end), other in names.items()):
            name = f" {name}"  # two Chinese words stand side by side, two English ones do not
        if not name.isascii() and tongue_of(query) == "zh":
            before, after = before.rstrip(" "), after.lstrip(" ")
        elif article := _ARTICLE.search(before):
            before = before[: article.start()] + _fitting(article["article"], name) + article["space"]
        text = before + name + after
    return text


def _parts(query: str, names: Mapping[Span, Sequence[str]], tokenizer: Tokenizer) -> list[Span]:
    """The terms that are parts of a compound of which not every part has a name in the other language."""
    if tongue_of(query) != "zh":
        return [
            (start, end)
            for start, end in names
            if (match := _NEXT_WORD.match(query, end)) is not None and match[1].lower() not in stop_words()
        ]
    parts: list[Span] = []
    for run in _compounds(query, tokenizer):
        inside = [(start, end) for start, end in names if run[0].start <= start and end <= run[-1].end]
        foreign = {at for at in inside if any(_mixes(query, at, name) for name in names[at])}
        is_covered = all(any(start <= unit.start and unit.end <= end for start, end in foreign) for unit in run)
        parts += [] if is_covered else inside
    return parts


def _compounds(query: str, tokenizer: Tokenizer) -> Iterator[list[Unit]]:
    """Content words that stand directly side by side, without those at the end that only say what is asked: 流程."""
    for group in groups(query, tokenizer):
        for is_joint, joined in groupby(group, key=lambda unit: unit.text in ("的", "之")):
            units = list(joined)
            while len(units) > 1 and units[-1].is_attribute:
                units.pop()
            if not is_joint:
                yield units


def _mixes(query: str, at: Span, name: str) -> bool:
    """Whether a written-out name is of the other script than the question and the term in whose place it stands."""
    is_latin = tongue_of(query) != "zh"
    return not is_abbreviation(name) and name.isascii() != is_latin and query[at[0] : at[1]].isascii() == is_latin


def generations(text: str) -> frozenset[str]:
    """The generations of mobile networks that a text speaks of by name: "3g", "4g", "5g"."""
    pattern, by_name = _generation_names()
    return frozenset(by_name[match.group().casefold()] for match in pattern.finditer(text))


@cache
def _generation_names() -> tuple[re.Pattern[str], Mapping[str, str]]:
    sections = read_sections("ragcore.understanding", "generations.txt")
    by_name = {name.casefold(): generation for generation, names in sections.items() for name in names}
    listed = "|".join(map(re.escape, longest_first(by_name)))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])", re.I), by_name


def _stands_in(name: str, text: str) -> bool:
    """Whether a text has this name, as whole words where it is Latin."""
    place = text.casefold().find(name.casefold())
    if not name.isascii() or place < 0:
        return place >= 0
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.I) is not None


def _of_this_meaning(names: list[str], rest: str, tokenizer: Tokenizer) -> list[str]:
    """The names that share a keyword with the rest of the question; all where none does."""
    words = set(keywords(rest, tokenizer))
    return [name for name in names if words & set(keywords(name, tokenizer))] or names


def _fitting(article: str, name: str) -> str:
    """ "a" or "an" as the name is spoken, with the capital that the article had."""
    if not name.isascii():
        return article
    is_spelt = _SPELT.match(name) is not None
    has_n = (_AN_LETTER if is_spelt else _AN_WORD).match(name) is not None
    return article[0] + ("n" if has_n else "")
