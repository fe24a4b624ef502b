"""What a text says in a few of its own sentences: those that stand for most of it, in its order (A4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.answer_patterns import asked_extent
from ragcore.extractive.choice import is_mail_head
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.extractive.spans import needs_before
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import idf_in
from ragcore.text.markdown import plain_text
from ragcore.text.scripts import columns
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_spaced_words
from ragcore.types import Passage, Source

MOST_POINTS = 8
MOST_COLUMNS = 1400
TABLE_COLUMNS = 400  # of these, that one table takes at most: it is shown whole or cut by rows
SHORT_COLUMNS = 12  # a sentence below says nothing by itself
LONG_COLUMNS = 320
FIRST_OF_SECTION = 1.35  # factor of a sentence that opens a section
FIRST_OF_TEXT = 1.6
ALIKE = 0.6  # share of its weight that another point already says
OFTEN = 5  # uses of a word from which more of them add no weight
LACKING = 4  # words of a wish for a summary of which one may stand in no title
READ_OF_PASSAGE = 12  # sentences of one passage that are weighed


def summary_runs(sources: Sequence[Source], tokenizer: Tokenizer) -> list[list[Statement]]:
    """At most MOST_POINTS points in the order of the text; [] without any sentence.

    A point is a sentence, two that stand together, or a table with all its rows: half of them would say something
    else. A sentence counts by the mean weight of its words, where a word weighs by how many sentences use it; one that
    opens a section counts more. What a better point says already is passed over.
    """
    found = [s for s in read_statements(sources, tokenizer) if not is_mail_head(s)]
    usable = [s for s in found if s.position < READ_OF_PASSAGE and SHORT_COLUMNS <= columns(s.text) <= LONG_COLUMNS]
    usable = [s for s in usable if s.terms]
    if not usable:
        return [found[:1]] if found else []
    worths = {id(s): float(worth) for s, worth in zip(usable, _worths(usable), strict=True)}
    runs = [run for run in _runs(found) if any(id(s) in worths for s in run)]
    chosen: list[int] = []
    said: set[str] = set()
    used = 0
    for at in sorted(range(len(runs)), key=lambda at: -max(worths.get(id(s), 0.0) for s in runs[at])):
        terms = {term for s in runs[at] for term in s.terms}
        wide = sum(columns(s.text) for s in runs[at])
        wide = min(wide, TABLE_COLUMNS) if runs[at][0].head else wide
        if used + wide > MOST_COLUMNS or len(terms & said) > ALIKE * len(terms):
            continue
        chosen.append(at)
        said |= terms
        used += wide
        if len(chosen) == MOST_POINTS:
            break
    return [runs[at] for at in sorted(chosen)]


def summarised_sources(question: str, sources: Sequence[Source], tokenizer: Tokenizer) -> list[Source]:
    """The sources of the document that a question wants summed up, in its order; [] where it asks for something else.

    It is the best source's document, if its title and headings hold all that the question says besides the wish.
    """
    if not sources or asked_extent(question, named=1) != "summary":
        return []
    best = min(sources, key=lambda source: source.number)
    same = [source for source in sources if source.passage.document == best.passage.document]
    names = " ".join(
        f"{one.passage.title} {' '.join(one.passage.heading_path)} {one.passage.external_id}" for one in same
    )
    passed = stop_words().union(read_spaced_words("ragcore.extractive", "summary_words.txt"))
    asked = {word for word in tokenizer.words(question) if word not in passed and not word.isdigit()}
    known, plain = set(tokenizer.words(names)), names.lower()
    lacking = [word for word in asked if word not in known and word not in plain]
    return sorted(same, key=lambda s: s.passage.ordinal) if asked and len(lacking) <= len(asked) // LACKING else []


def summary_passages(passages: Sequence[Passage], tokenizer: Tokenizer) -> list[Passage]:
    """The passages in which a summary of all of them stands, in their order."""
    sources = [
        Source(number=at, passage=passage, text=passage.text, score=0.0) for at, passage in enumerate(passages, start=1)
    ]
    numbers = {statement.source.number for run in summary_runs(sources, tokenizer) for statement in run}
    return [source.passage for source in sources if source.number in numbers]


def _runs(found: Sequence[Statement]) -> list[list[Statement]]:
    """The sentences in order: rows of one table together, also over two passages, and pairs of sentences."""
    runs: list[list[Statement]] = []
    for statement in found:
        last = runs[-1] if runs else []
        if last and (_is_same_table(last[-1], statement) if statement.head else _is_pair(last, statement)):
            last.append(statement)
        else:
            runs.append([statement])
    return runs


def _is_same_table(before: Statement, row: Statement) -> bool:
    places = [(s.heading if before.source is row.source else "", s.source.passage.heading_path) for s in (before, row)]
    return before.head == row.head and places[0] == places[1]


def _is_pair(run: Sequence[Statement], statement: Statement) -> bool:
    """Whether a sentence stays with the one before it: it goes on with it, or both are all that a paragraph says."""
    if len(run) > 1 or run[0].is_row or statement.is_row or statement.is_item:
        return False
    if run[0].source is not statement.source or run[0].heading != statement.heading:
        return False
    together = {f"{run[0].text}{gap}{statement.text}" for gap in ("", " ")}
    if columns(min(together, key=len)) > LONG_COLUMNS:
        return False
    paragraphs = map(plain_text, statement.source.text.splitlines())
    return needs_before(statement.text) or any(paragraph in together for paragraph in paragraphs)


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
