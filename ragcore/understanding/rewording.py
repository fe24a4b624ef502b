"""Whether somebody asks for the same thing again in other words, which says that the first answer did not help.

More is the same here than for the semantic cache (`same_question`): nothing is answered by it, it only opens a case.
"""

from __future__ import annotations

import re

from ragcore.grounding.facts import figures, names, plain_figure
from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.normalise import squeeze
from ragcore.text.question_type import wanted

LEAST_LIKENESS = 0.7  # cosine; over it stand most rewordings and few follow-ups
LEAST_COMMON = 0.8  # share of common keywords that is enough without it; one shared word of a short question is not
_ASPECTS = {  # what a question asks for; two questions of which only one asks for a person or a place are different
    "who": re.compile(r"\bwho(?:m|se)?\b|谁|哪个人|哪位|何人", re.IGNORECASE),
    "where": re.compile(r"\bwhere\b|哪里|哪儿|何处|什么地方", re.IGNORECASE),
    "when": re.compile(r"\bwhen\b|\bwhat time\b|什么时候|何时|几点", re.IGNORECASE),
    "why": re.compile(r"\bwhy\b|\breasons?\b|为什么|为何|原因", re.IGNORECASE),
}
MOST_NAMED = 3  # keywords of a question for a definition: longer ones ask for more
_DECISIVE = {"who", "where"}
_DEFINITION = re.compile(r"(?:what(?:'s|’s| is| are)|define|explain)\b|什么是|何谓|何为", re.IGNORECASE)
_OF_DEFINITIONS = frozenset(  # keywords that another way to ask for a definition may have
    ("definit", "defin", "explain", "explan", "term", "mean", "word", "abbrevi", "describ", "stand", "short")
    + ("意思", "含义", "定义", "解释", "概念", "介绍", "说明", "术语", "意味着", "意味", "简介", "代表", "缩写")
)


def is_rewording(earlier: str, later: str, *, cosine: float, tokenizer: Tokenizer) -> bool:
    """`cosine`: of the vectors of both questions, -1 to 1.

    Questions with other figures, other identifiers or another kind of answer are different questions, however alike.
    The same words again are no rewording: people repeat a question for a fresh answer or another depth.
    """
    if is_repeated(earlier, later):
        return False
    if _figures(earlier) != _figures(later) or _identifiers(earlier) != _identifiers(later):
        return False
    if _asks_else(earlier, later) or _is_beyond_definition(earlier, later, tokenizer):
        return False
    kinds = {wanted(earlier), wanted(later)} - {"any"}
    if len(kinds) > 1 or (len(kinds) == 1 and "number" in kinds and _is_definition(earlier, later)):
        return False
    return cosine >= LEAST_LIKENESS or _common(earlier, later, tokenizer) >= LEAST_COMMON


def is_repeated(earlier: str, later: str) -> bool:
    """Whether both are the same but for case, punctuation and spaces."""
    return squeeze(earlier) == squeeze(later)


def _is_definition(earlier: str, later: str) -> bool:
    """Whether one of them asks what something is, so that a number is another question."""
    return any(text.casefold().startswith(("what is a", "what are", "什么是")) for text in (earlier, later))


def _asks_else(earlier: str, later: str) -> bool:
    """Whether the question words want different things: a person, a place, a time or a reason."""
    aspects, other_aspects = (
        {name for name, words in _ASPECTS.items() if words.search(text)} for text in (earlier, later)
    )
    return (aspects ^ other_aspects) & _DECISIVE != set() or bool(
        aspects and other_aspects and not aspects & other_aspects
    )


def _is_beyond_definition(earlier: str, later: str, tokenizer: Tokenizer) -> bool:
    """Whether one asks what something is, and the other for more than that: it has further keywords."""
    for question, other in ((earlier, later), (later, earlier)):
        if _DEFINITION.match(question.strip()):
            more = set(keywords(other, tokenizer)) - set(keywords(question, tokenizer)) - _OF_DEFINITIONS
            if more and not _DEFINITION.match(other.strip()) and len(set(keywords(question, tokenizer))) <= MOST_NAMED:
                return True
    return False


def _figures(text: str) -> set[str]:
    return {plain_figure(figure) for figure in figures(text)}


def _identifiers(text: str) -> set[str]:
    return {name for name in names(text) if any(character.isdigit() for character in name)}


def _common(earlier: str, later: str, tokenizer: Tokenizer) -> float:
    """Common keywords by those of the longer question, 0 to 1."""
    words, other = set(keywords(earlier, tokenizer)), set(keywords(later, tokenizer))
    return len(words & other) / max(len(words), len(other)) if words and other else 0.0
