"""What a question names by its title is what its answer is about.

"How did Acme Ltd. finance its growth in 2020?" is answered from the reports of Acme Ltd. Sentences of other companies'
reports that share every other word of it are true, and no answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.codes import codes_in, versions_in, without_codes
from ragcore.text.labels import labels_in
from ragcore.text.point_labels import point_label, point_labels
from ragcore.text.question_sides import question_sides
from ragcore.text.question_type import question_type
from ragcore.text.scripts import columns
from ragcore.text.signed_words import names_another, signed_words
from ragcore.text.tokenise import stop_words

LEAST_DEFINING = 30  # columns of a point that tells what something is
MOST_BESIDE = 1  # words of a point that only names a thing, besides those of the question
LEAST_WORDS = 2  # of a title, so that it names something
SIBLING = 20.0  # log-odds that a sentence about another code of the same form loses
_NAME = re.compile(r"[A-Z][a-z]{2,}")
_DIGITS = re.compile(r"\d+")
_ASKS_VERSION = re.compile(r"哪[个個一]?(?:新)?版|\b(?:which|what) (?:version|release|edition)\b", re.IGNORECASE)


def named_titles(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> frozenset[str]:
    """Titles of documents of which the question has every word, unless they are part of another such title."""
    question_words = set(tokenizer.words(question))
    titles = {s.source.passage.title for s in statements}
    complete = {
        title: words
        for title in titles
        if (words := _words(title, tokenizer)) <= question_words and len(words) >= LEAST_WORDS
    }
    return frozenset(
        title for title, words in complete.items() if not any(words < other for other in complete.values())
    )


def about_named(statements: Sequence[Statement], titles: frozenset[str]) -> list[int]:
    """Places of the sentences of the documents with these titles.

    All places where the best source has none of them.
    """
    if not statements:
        return []
    best = min(statements, key=lambda s: s.source.number)
    if best.source.passage.title not in titles:
        return list(range(len(statements)))
    return [at for at, s in enumerate(statements) if s.source.passage.title in titles]


def about_codes(question: str, statements: Sequence[Statement]) -> list[int]:
    """Places of the sentences of the sources that hold most of the question's codes, with their titles.

    A version that a title names is told of by that document, where the question asks for no other one: "in which
    version is the fault of V3.2.0 gone". All places where the question names no code, or several versions, which stand
    in documents of their own.
    """
    codes = codes_in(question)
    if not statements or not codes or len(versions_in(question)) > 1:
        return list(range(len(statements)))
    sources = {s.source.number: s.source for s in statements}
    matches = {
        number: len(codes) - len(without_codes(codes, f"{source.passage.title}\n{source.text}"))
        for number, source in sources.items()
    }
    most = max(matches.values())
    best_sources = {number for number, count in matches.items() if count == most}
    versions = [] if _ASKS_VERSION.search(question) else versions_in(question)
    titled = {
        number for number in best_sources if versions and not without_codes(versions, sources[number].passage.title)
    }
    return [at for at, s in enumerate(statements) if s.source.number in (titled or best_sources)]


def without_siblings(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for sentences about another thing of the kind that is asked about."""
    scores = _without_other_labels(question, statements, _without_other_headings(question, statements, scores))
    scores = _without_other_points(question, statements, scores)
    return _without_other_signs(question, statements, _without_other_codes(question, statements, scores))


def is_named_point(question: str, statement: Statement) -> bool:
    """Whether a sentence is the point that a question names by its label: 2.1.2, 附件B."""
    return point_label(statement.text) in point_labels(question)


def without_bare_names(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> list[Statement]:
    """Without points that only name what is asked about: they say neither what it is nor how it is done.

    Of a definition a short point, to how something is done one that has the words of the question and few others.
    """
    kind = question_type(question)
    things = _things(question, tokenizer)

    def is_bare(statement: Statement) -> bool:
        if not statement.is_item or is_named_point(question, statement):
            return False
        if kind == "definition":
            return columns(statement.text) < LEAST_DEFINING
        words = set(tokenizer.words(statement.text))
        return len(things) > 1 and things <= words and len(words - things) <= MOST_BESIDE

    if kind not in ("definition", "process"):
        return list(statements)
    return [statement for statement in statements if not is_bare(statement)] or list(statements)


def _things(text: str, tokenizer: Tokenizer) -> frozenset[str]:
    """Content words without those that say which side of a thing is asked for: "steps", "how"."""
    return frozenset(tokenizer.words(text)) - stop_words() - question_sides()


def _without_other_points(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for all but the point whose label the question names.

    Only where the sources hold one, itself or as a heading.
    """
    labels = point_labels(question)
    if not labels:
        return scores
    own_labels = [point_label(statement.text) for statement in statements]
    heading_labels = [point_label(statement.heading) for statement in statements]
    is_point = np.array([not labels.isdisjoint(pair) for pair in zip(own_labels, heading_labels, strict=True)])
    return np.asarray(scores - np.where(is_point, 0.0, SIBLING), np.float32) if is_point.any() else scores


def _without_other_signs(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for sentences about C++ where C# is asked about and spoken of."""
    names = signed_words(question)
    sentence_names = [signed_words(statement.text) for statement in statements] if names else []
    if not any(words & names for words in sentence_names):
        return scores
    is_other = np.array([names_another(names, words) for words in sentence_names])
    return np.asarray(scores - np.where(is_other, SIBLING, 0.0), np.float32)


def _without_other_labels(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for sentences about port C where port A is asked about."""
    question_labels = labels_in(question)
    if not question_labels:
        return scores
    names = {name for name, _label in question_labels}
    sentence_labels = [labels_in(statement.text) for statement in statements]
    is_other = np.array(
        [not labels & question_labels and any(name in names for name, _label in labels) for labels in sentence_labels]
    )
    return np.asarray(scores - np.where(is_other, SIBLING, 0.0), np.float32)


def _without_other_codes(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for sentences about another code of the same form.

    Where the best sentence has a code of the question, "line 2", what is said of lines 1 and 3 is no answer.
    """
    question_codes = set(codes_in(question))
    if not question_codes or question_codes.isdisjoint(codes_in(statements[int(scores.argmax())].text)):
        return scores
    forms = {_form(code) for code in question_codes}
    sentence_codes = (set(codes_in(statement.text)) for statement in statements)
    is_sibling = np.array(
        [not codes & question_codes and any(_form(code) in forms for code in codes) for codes in sentence_codes]
    )
    return np.asarray(scores - np.where(is_sibling, SIBLING, 0.0), np.float32)


def _without_other_headings(question: str, statements: Sequence[Statement], scores: FloatArray) -> FloatArray:
    """float32[n]: the same log-odds, far less for what stands under the heading of another thing of the same kind.

    "When will Cedar be available?" is not answered by what is said under "Next: Aspen", where "Under study: Cedar" is
    a heading of the same document.
    """
    names = [_heading_names(statement.heading) for statement in statements]
    question_names = {word.strip("?,.!").lower() for word in question.split()} & frozenset().union(*names)
    if not question_names:
        return scores
    versions = {
        statement.source.passage.version
        for statement, heading_names in zip(statements, names, strict=True)
        if heading_names & question_names
    }
    is_other = np.array(
        [
            bool(heading_names)
            and not heading_names & question_names
            and statement.source.passage.version in versions
            and not _says(statement.text, question_names)
            for statement, heading_names in zip(statements, names, strict=True)
        ]
    )
    return np.asarray(scores - np.where(is_other, SIBLING, 0.0), np.float32)


def _heading_names(heading: str) -> frozenset[str]:
    """Names in a heading, in lower case: capitalised words behind a colon, or after words that are not capitalised."""
    _before, colon, behind = heading.rpartition(": ")
    words = (behind if colon else heading).split()
    names = [word for word in words[0 if colon else 1 :] if _NAME.fullmatch(word)]
    is_title = not colon and all(word[:1].isupper() for word in words[1:])
    return frozenset() if is_title else frozenset(name.lower() for name in names)


def _says(text: str, names: Collection[str]) -> bool:
    lower = text.lower()
    return any(name in lower for name in names)


def _form(code: str) -> str:
    return _DIGITS.sub("0", code)


def _words(title: str, tokenizer: Tokenizer) -> set[str]:
    return set(tokenizer.words(title)) - stop_words()
