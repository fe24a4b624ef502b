"""A heading that asks what somebody asks in other words: "Who decides about a hotfix?" for the last word on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.question_type import wanted
from ragcore.text.tokenise import stop_words

OF_HEADING = 0.5  # share of its words that the question has
OF_QUESTION = 0.6  # share of the weight of the question's words that passages have


def is_asked_by_heading(
    question: str, statements: Sequence[Statement], weights: Mapping[str, float], tokenizer: Tokenizer
) -> bool:
    """Whether a heading or a line of questions asks for a value of the same kind, and of the same thing.

    `weights`: of the question's terms that some passage has.
    """
    kind = wanted(question)
    terms = {term for term in tokenizer.words(question) if term in weights and term not in stop_words()}
    total = sum(map(weights.__getitem__, terms))
    if kind == "any" or not total:
        return False
    lines = {line for statement in statements for line in (statement.heading, statement.text)}
    for line in lines:
        if line.rstrip("* ").endswith(("?", "？")) and wanted(line) == kind:
            of_line = set(tokenizer.words(line)) - stop_words()
            common_terms = of_line & terms
            is_like = len(common_terms) >= OF_HEADING * len(of_line)
            if is_like and sum(map(weights.__getitem__, common_terms)) >= OF_QUESTION * total:
                return True
    return False
