"""Whether sources say of the thing a question is about the value that it asks for.

"How heavy is the PX-4" is about the PX-4: the row of the PX-4, the passages that name it and the documents that are
called after it. What is said of other things, in the next row, is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Tokenizer
from ragcore.text.across_words import covered_across
from ragcore.text.asked_property import asked_column, asked_role, speaks_of
from ragcore.text.codes import codes_in, without_codes
from ragcore.text.matching import keywords
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import stem
from ragcore.text.value_kinds import ValueKind, asked_kinds
from ragcore.text.word_lists import read_section
from ragcore.types import Source

NEIGHBOURS = 2  # sentences on each side that may name what a sentence is about
MOSTLY = 0.6  # share of the words of the subject that a text which is about it has
HAN_BEGIN = 2  # characters of an office that also name its deed
_TOKEN = re.compile(r"[A-Za-z0-9][\w./-]*|[\u4e00-\u9fff]+")


def missing_kinds(
    question: str, sources: Sequence[Source], *, near: Sequence[str], tokenizer: Tokenizer
) -> list[ValueKind]:
    """The kinds of values that a question asks for, where the sources tell none of them of its subject; else none.

    `near`: the texts in which to look where no sentence is about the subject.
    """
    kinds = asked_kinds(question)
    for kind in kinds:
        about = statements_about(kind.without(question), sources, tokenizer=tokenizer)
        if kind.is_of_rows and not (about and all(statement.is_row for statement in about)):
            return []
        if any(map(kind.is_told, map(_with_sections, about) if about else near)):
            return []
        if any(map(kind.is_told, _lines_about(kind.without(question), sources, tokenizer))):
            return []
    return kinds


def lacks_column(question: str, sources: Sequence[Source], *, tokenizer: Tokenizer) -> bool:
    """Whether all that the sources say of a thing are rows of tables, and none has the column that is asked for."""
    column = asked_column(question, tokenizer)
    if not column:
        return False
    subject = re.sub(rf"{re.escape(column)}\w*", " ", nfkc(question), flags=re.IGNORECASE)
    about = statements_about(subject, sources, tokenizer=tokenizer)
    texts = (f"{_headings(statement)}\n{statement.text}" for statement in about)
    is_said = any(speaks_of(text, column, tokenizer, is_record=True) for text in texts)
    return bool(about) and all(statement.is_row for statement in about) and not is_said


def lacks_role(question: str, sources: Sequence[Source], known_terms: Collection[str], *, tokenizer: Tokenizer) -> bool:
    """Whether the holder of an office is asked for, which no passage names, and the sources speak of the place only.

    `known_terms`: those of the question that some passage has.
    """
    role = asked_role(question)
    if role is None or not known_terms:
        return False
    office, place = role[0], role[1].lower()
    if not {office, *tokenizer.terms(office)}.isdisjoint(known_terms):
        return False
    about = [s for s in read_statements(sources, tokenizer) if place in f"{_headings(s)}\n{s.text}".lower()]
    deed = office[:HAN_BEGIN] if not office.isascii() else office.removesuffix("s")[:-2]  # 创办, "found"
    texts = [statement.text for statement in about]
    return bool(about) and not any(
        re.search(rf"(?<![A-Za-z]){re.escape(deed)}", text, re.IGNORECASE)
        or speaks_of(text, office, tokenizer, is_record=True)
        for text in texts
    )


def statements_about(subject: str, sources: Sequence[Source], *, tokenizer: Tokenizer) -> list[Statement]:
    """The sentences of the sources that are about a subject; none where nothing is.

    A sentence is about what it, a neighbour in its text or a heading names; a row of a table about what the row or a
    heading names. `subject`: the question without the words for what it asks. Its codes come first: where some
    sentences have them, only these count, and rows that have one of several; of these the ones that have most other
    words, if any do.
    """
    statements = read_statements(sources, tokenizer)
    places = _places(statements)
    codes, about = codes_in(subject), list(range(len(statements)))
    if codes:
        missing = [len(without_codes(codes, place)) for place in places]
        least = min(missing, default=0)
        about = [
            at
            for at, lacking in enumerate(missing)
            if lacking == least < len(codes) or (statements[at].is_row and lacking < len(codes))
        ]
    near = _mostly_named(_without(subject, codes), [places[at] for at in about], tokenizer)
    chosen = [about[at] for at in near] or (about if codes else [])
    return [statements[at] for at in chosen]


def _lines_about(subject: str, sources: Sequence[Source], tokenizer: Tokenizer) -> list[str]:
    """The lines of the sources that name most of a subject, as written: sentences leave out <a.lindt@example.org>."""
    lines = [line for source in sources for line in source.text.splitlines() if "@" in line]
    return [lines[at] for at in _mostly_named(subject, lines, tokenizer)]


def _without(subject: str, codes: Sequence[str]) -> str:
    plain = nfkc(subject)
    return " ".join(token for token in _TOKEN.findall(plain) if without_codes(codes, token) == list(codes))


def _headings(statement: Statement) -> str:
    passage = statement.source.passage
    return "\n".join((passage.title, passage.external_id, *passage.heading_path, statement.heading))


def _with_sections(statement: Statement) -> str:
    """A sentence below its headings, without the title of the document."""
    passage = statement.source.passage
    heads = [head for head in (*passage.heading_path, statement.heading) if head != passage.title]
    return "\n".join((*heads, statement.text))


def _places(statements: Sequence[Statement]) -> list[str]:
    """Of each sentence what says of which thing it is: the headings with itself as a row, or with its neighbours."""
    places = []
    for at, statement in enumerate(statements):
        around = statements[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
        beside = [s.text for s in around if s.source is statement.source and not s.is_row]
        places.append("\n".join((_headings(statement), *([statement.text] if statement.is_row else beside))))
    return places


def _mostly_named(subject: str, places: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Which of the places have most words of a subject; none where it has no words."""
    fillers = _fillers()
    words = [word for word in keywords(subject, tokenizer) if word not in fillers]
    if not words or not places:
        return []
    across = covered_across(" ".join(words), places, tokenizer)
    language = language_of(subject)
    shares = [
        max(_share(words, place, tokenizer), float(far) if language_of(place) != language else 0.0)
        for place, far in zip(places, across, strict=True)
    ]
    return [at for at, share in enumerate(shares) if share >= MOSTLY]


def _share(words: Sequence[str], text: str, tokenizer: Tokenizer) -> float:
    """The share of the words that a text has; a Chinese word of two characters counts as much as a Latin one."""
    lower, terms = text.lower(), frozenset(tokenizer.words(text))
    weights = {word: 1.0 if word.isascii() else len(word) / 2 for word in words}
    hits = (word for word in words if word in terms or (not word.isascii() and word in lower))
    return sum(map(weights.__getitem__, hits)) / sum(weights.values())


@cache
def _fillers() -> frozenset[str]:
    """Words that name nothing, as they are written and as stems."""
    words = read_section("ragcore.answerability", "subject_fillers.txt")
    return frozenset(words) | {stem(word) for word in words if word.isascii()}
