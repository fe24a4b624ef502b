"""Whether somebody asks for the same thing again in other words, which says that the first answer did not help.

More is the same here than for the semantic cache (`same_question`): nothing is answered by it, it only opens a case.
"""

from __future__ import annotations

from ragcore.grounding.facts import figures, names, plain_figure
from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.normalise import squeeze
from ragcore.text.question_type import wanted

LEAST_LIKENESS = 0.55  # cosine, or share of common keywords; over it stand most rewordings and few follow-ups


def is_rewording(earlier: str, later: str, *, cosine: float, tokenizer: Tokenizer) -> bool:
    """`cosine`: of the vectors of both questions, -1 to 1.

    Questions with other figures, other identifiers or another kind of answer are different questions, however alike.
    The same words again are no rewording: people repeat a question for a fresh answer or another depth.
    """
    if is_repeated(earlier, later):
        return False
    if _figures(earlier) != _figures(later) or _identifiers(earlier) != _identifiers(later):
        return False
    kinds = {wanted(earlier), wanted(later)} - {"any"}
    if len(kinds) > 1 or (len(kinds) == 1 and "number" in kinds and _is_definition(earlier, later)):
        return False
    return max(cosine, _common(earlier, later, tokenizer)) >= LEAST_LIKENESS


def is_repeated(earlier: str, later: str) -> bool:
    """Whether both are the same but for case, punctuation and spaces."""
    return squeeze(earlier) == squeeze(later)


def _is_definition(earlier: str, later: str) -> bool:
    """Whether one of them asks what something is, so that a number is another question."""
    return any(text.casefold().startswith(("what is a", "what are", "什么是")) for text in (earlier, later))


def _figures(text: str) -> set[str]:
    return {plain_figure(figure) for figure in figures(text)}


def _identifiers(text: str) -> set[str]:
    return {name for name in names(text) if any(character.isdigit() for character in name)}


def _common(earlier: str, later: str, tokenizer: Tokenizer) -> float:
    """Common keywords by those of the longer question, 0 to 1."""
    words, other = set(keywords(earlier, tokenizer)), set(keywords(later, tokenizer))
    return len(words & other) / max(len(words), len(other)) if words and other else 0.0
