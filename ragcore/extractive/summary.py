"""What a text says in a few of its own sentences: those that stand for most of it, in its order (A4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import idf_in
from ragcore.text.scripts import columns
from ragcore.types import Passage, Source

MOST_POINTS = 8
MOST_COLUMNS = 1400
SHORT_COLUMNS = 12  # a sentence below says nothing by itself
LONG_COLUMNS = 320
FIRST_OF_SECTION = 1.35  # factor of a sentence that opens a section
FIRST_OF_TEXT = 1.6
ALIKE = 0.6  # share of its weight that another point already says
OFTEN = 5  # uses of a word from which more of them add no weight
READ_OF_PASSAGE = 12  # sentences of one passage that are weighed


def summary_statements(sources: Sequence[Source], tokenizer: Tokenizer) -> list[Statement]:
    """At most MOST_POINTS sentences in the order of the text; [] without usable ones.

    A sentence counts by the mean weight of its words, where a word weighs by how many sentences use it; one that opens
    a section counts more. What a better point says already is passed over.
    """
    found = [s for s in read_statements(sources, tokenizer) if s.position < READ_OF_PASSAGE]
    usable = [s for s in found if SHORT_COLUMNS <= columns(s.text) <= LONG_COLUMNS and s.terms]
    if not usable:
        return found[:1]
    worths = _worths(usable)
    chosen: list[int] = []
    said: set[str] = set()
    used = 0
    for at in np.argsort(-worths, kind="stable").tolist():
        terms = set(usable[at].terms)
        if used + columns(usable[at].text) > MOST_COLUMNS or len(terms & said) > ALIKE * len(terms):
            continue
        chosen.append(at)
        said |= terms
        used += columns(usable[at].text)
        if len(chosen) == MOST_POINTS:
            break
    return [usable[at] for at in sorted(chosen)]


def summary_passages(passages: Sequence[Passage], tokenizer: Tokenizer) -> list[Passage]:
    """The passages in which a summary of all of them stands, in their order."""
    sources = [
        Source(number=at, passage=passage, text=passage.text, score=0.0) for at, passage in enumerate(passages, start=1)
    ]
    numbers = {statement.source.number for statement in summary_statements(sources, tokenizer)}
    return [source.passage for source in sources if source.number in numbers]


def _worths(usable: Sequence[Statement]) -> FloatArray:
    """One figure for each sentence, higher says more of the whole."""
    texts = [set(statement.terms) for statement in usable]
    frequency = Counter(term for text in texts for term in text)
    rarity = idf_in(frequency, texts)
    worths = np.zeros(len(usable), np.float32)
    seen: set[tuple[int, str]] = set()
    for at, statement in enumerate(usable):
        terms = texts[at]
        shared = sum(min(frequency[term], OFTEN) * rarity[term] for term in terms)
        worths[at] = shared / (len(terms) + 4)
        section = (statement.source.number, statement.heading)
        if at == 0:
            worths[at] *= FIRST_OF_TEXT
        elif section not in seen:
            worths[at] *= FIRST_OF_SECTION
        seen.add(section)
    return worths
