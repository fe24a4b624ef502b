"""What a question that gives file names or folders adds to the keyword search (decision 021).

A document whose name is given counts as a text of average length that has each word of the question once. One whose
whole name is given leads every ranking. A question that gives no name changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcore.ports import NameIndex
from ragcore.text.names import name_mentions, name_words
from ragcore.types import Hit, NamedDocument, NameMention, Query

FEW = 20  # documents; plain words that more names have in common name none of them
REPRESENTATION = "name"  # what the hits say they were found by


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNames:
    """Documents that a question names, in whole or in part."""

    whole: Mapping[int, NamedDocument] = field(default_factory=dict)  # by document id
    part: Mapping[int, NamedDocument] = field(default_factory=dict)

    @property
    def names(self) -> dict[int, str]:
        """The name of each document, in words."""
        return {
            document: document_found.name for document, document_found in {**self.part, **self.whole}.items()
        }  # "": not read


NO_NAMES = FoundNames()


def find_names(query: Query, index: NameIndex | None) -> FoundNames:
    """The documents whose names the question gives."""
    mentions = name_mentions(query.text) if index is not None else []
    if index is None or not mentions:
        return NO_NAMES
    whole: dict[int, NamedDocument] = {}
    part: dict[int, NamedDocument] = {}
    texts: list[str] = []
    for mention, documents in zip(mentions, index.named(mentions), strict=True):
        if documents and not any(mention.text in text for text in texts):
            if documents[0].place is not None:
                texts.append(mention.text)
            chosen = whole if documents[0].place is not None else part
            chosen |= {item.document: item for item in _wanted(mention, documents)}
    return FoundNames(whole=whole, part={document: item for document, item in part.items() if document not in whole})


def _wanted(mention: NameMention, documents: Sequence[NamedDocument]) -> list[NamedDocument]:
    """All of them for a name written as one; else the few whose title does not say the same: words find those."""
    if mention.is_marked and documents[0].place is not None:
        return list(documents)
    if len(documents) > FEW:
        return []
    return [item for item in documents if not mention.words <= name_words(item.title)]


def with_names(hits: list[Hit], names: FoundNames, query: Query) -> list[Hit]:
    """The hits of the lexical index and those of names, best first; `query`: with the idf of its terms."""
    if not names.names:
        return hits
    once = sum(query.weights.get(term, 0.0) for term in query.terms) or 1.0
    most = max([once, *(hit.score for hit in hits[:1])])
    exact = [Hit(c, item.document, most, REPRESENTATION) for item in names.whole.values() for c in item.chunks]
    loose = [Hit(c, item.document, once, REPRESENTATION) for item in names.part.values() for c in item.chunks]
    return sorted([*exact, *hits, *loose], key=lambda hit: -hit.score)
