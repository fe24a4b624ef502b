"""Which documents are older editions of others, so that what holds now is said first.

"Travel rules (2024 edition)" beside "Travel rules (2026 edition)", or a document that says of itself that another one
replaces it. What an older edition says is shown behind, unless the question asks for it or compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray
from ragcore.text.normalise import nfkc
from ragcore.types import Passage, Source

OLDER = 3.0  # log-odds that a sentence of an older edition loses
HEAD_CHARACTERS = 300  # of a document, in which it may say which edition it is
_EDITION = re.compile(
    r"(?<![\d.])(?P<year>(?:19|20)\d\d)\s?(?:年?(?:版|修订|修訂|试行|試行)|edition\b|ed\.)"
    r"|\b[Vv](?:er(?:sion)?\.?\s?)?(?P<version>\d+(?:\.\d+){0,3})|\brev(?:ision|\.)?\s?(?P<letter>[A-Z]|\d{1,2})\b",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\s()（）\[\]【】_,，:：;；.。-]+|edition|版|修订|修訂", re.IGNORECASE)
_REPLACED = re.compile(
    r"本(?:版|文件|制度|规定|規定|办法|辦法|标准|標準)[^。；;\n]{0,24}(?:替代|取代|废止|廢止|作废|作廢|失效)(?!了?20)"
    r"|\bthis (?:edition|version|document|policy|guide) (?:is|was|has been|will be) (?:replaced|superseded|withdrawn)",
    re.IGNORECASE,
)
_REPLACES = re.compile(r"本版替代|本版取代|replaces the|supersedes", re.IGNORECASE)
_ASKS_OLDER = re.compile(
    r"旧|舊|老版|老标准|老標準|以前|之前|原来|原來|上一版|历史|歷史|去年|新版|对比|對比|比较|比較|区别|區別|变化|變化|改了|差多少|涨了|漲了"
    r"|\b(?:old|older|previous|former|earlier|before|last year|used to|compared?|difference|changed?|changes|vs)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Edition:
    """A document that is one of several editions. `names`: what names the edition in a question: 2026, rev c."""

    document: int
    order: tuple[int, ...]  # how new it is, to be compared
    names: frozenset[str]
    title: str

    @property
    def label(self) -> str:
        """What the title calls the edition, "2026 edition", or the document itself: "2026"."""
        match = _EDITION.search(nfkc(self.title))
        return match[0].strip() if match else min(self.names, default=self.title)

    def is_named(self, question: str) -> bool:
        """Whether a question, in lower case, names it."""
        return any(re.search(rf"(?<![\d.]){re.escape(name)}(?![\d.]*\d)", question) for name in self.names)


def edition_families(passages: Iterable[Passage]) -> list[list[Edition]]:
    """Documents that are editions of one thing, by their titles or how they begin, the newest first of each."""
    families: dict[str, dict[int, Edition]] = {}
    for passage in sorted(passages, key=lambda item: (item.document, item.ordinal)):
        title = nfkc(passage.title)
        order, names = _edition(title) if _EDITION.search(title) else _edition(_head(passage))
        family = without_edition(title)
        if order and family:
            edition = Edition(passage.document, order, names, passage.title)
            families.setdefault(family, {}).setdefault(passage.document, edition)
    return [
        sorted(editions.values(), key=lambda edition: edition.order, reverse=True) for editions in families.values()
    ]


def without_edition(title: str) -> str:
    """A title without what names its edition, and without marks, to be compared."""
    return _MARKS.sub("", _EDITION.sub("", nfkc(title))).casefold()


def older_editions(sources: Sequence[Source]) -> dict[int, frozenset[str]]:
    """Documents of which a newer edition is known or among the sources, or that say so: id -> what names each."""
    replaced = {
        source.passage.document: _edition(nfkc(source.passage.title))[1] or _edition(_head(source.passage))[1]
        for source in sorted(sources, key=lambda source: (source.passage.document, -source.passage.ordinal))
        if _REPLACED.search(source.passage.text) and not _REPLACES.search(source.passage.text)
    }
    passages = [source.passage for source in sources]
    replaced |= {p.document: p.replaced_by.names for p in passages if p.replaced_by is not None}
    for editions in edition_families(passages):
        replaced |= {edition.document: edition.names for edition in editions if edition.order < editions[0].order}
    return replaced


def current_first(
    question: str, statements: Sequence[Statement], older: Mapping[int, frozenset[str]]
) -> list[Statement]:
    """The sentences with those of older editions last; in their order where the question asks for an older one."""
    if asks_older(question, older):
        return list(statements)
    return sorted(statements, key=lambda statement: statement.source.passage.document in older)


def less_of_older(
    question: str, statements: Sequence[Statement], scores: FloatArray, older: Mapping[int, frozenset[str]]
) -> FloatArray:
    """float32[n]: the same log-odds, less for sentences of older editions that the question does not ask for."""
    if not older or asks_older(question, older):
        return scores
    is_older = np.array([statement.source.passage.document in older for statement in statements])
    return np.asarray(scores - np.where(is_older, OLDER, 0.0), np.float32)


def asks_older(question: str, older: Mapping[int, frozenset[str]]) -> bool:
    """Whether a question names an older edition, compares, or asks how it was."""
    plain = nfkc(question).casefold()
    return _ASKS_OLDER.search(plain) is not None or any(name in plain for names in older.values() for name in names)


def _head(passage: Passage) -> str:
    return nfkc(passage.text[:HEAD_CHARACTERS]) if passage.ordinal == 0 else ""


def _edition(text: str) -> tuple[tuple[int, ...], frozenset[str]]:
    """How new the first edition is that a text names, to be compared, and what names it; () without one."""
    match = _EDITION.search(text)
    if match is None:
        return (), frozenset()
    if match["year"]:
        return (int(match["year"]),), frozenset({match["year"]})
    if match["version"]:
        return tuple(map(int, match["version"].split("."))), frozenset({match["version"]})
    letter = match["letter"].upper()
    order = int(letter) if letter.isdigit() else ord(letter)
    return (order,), frozenset({f"rev {letter.lower()}", f"revision {letter.lower()}"})
