"""How something is done: the whole section that tells it, where that is a list of steps.

"how do I connect to the VPN" is answered by the points below the heading "VPN", in their order and all of them. The
best single sentences of such a section would be steps without those before and after them. So is "how does a device
recover from a failure", where the document numbers the steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np

from ragcore.extractive.answer_patterns import asked_action, asks_procedure
from ragcore.extractive.own_language import are_foreign
from ragcore.extractive.sections import statement_units
from ragcore.extractive.sentences import STEP, Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.asked_property import speaks_of
from ragcore.text.glossary import glossary_of
from ragcore.text.markdown import plain_text
from ragcore.text.scripts import columns
from ragcore.text.tokenise import stop_words

BEST = 4  # sentences of a section that say how well it fits
HEADING_WEIGHT = 4.0  # log-odds of a heading that has all words of the question, and of one that has no others
NEARLY_BEST = 4.0  # log-odds that a section with steps may lie below the best one
LEAST_STEPS = 3
MOST_COLUMNS = 1400
NUMBERED_CHARACTERS = 20  # of a point by which its sentence is known
_NUMBER = re.compile(r"^[ \t]{0,3}(?:\d{1,3}[.)、．]|[(（]\d{1,3}[)）]|[①-⑳])\s*(?=[^\s\d])", re.MULTILINE)
_NUMBERED = re.compile(rf"{_NUMBER.pattern}(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Steps in their order, and the sentences before and behind them."""

    before: tuple[Statement, ...]
    steps: tuple[tuple[Statement, ...], ...]
    behind: tuple[Statement, ...]

    def columns(self) -> int:
        """How wide all of it is."""
        sentences = (*self.before, *chain.from_iterable(self.steps), *self.behind)
        return sum(columns(sentence.text) for sentence in sentences)


def find_procedure(
    question: str, statements: Sequence[Statement], scores: FloatArray, tokenizer: Tokenizer
) -> Procedure | None:
    """The section with steps that fits a question best; None where another one fits clearly better, or it is too long.

    `scores`: float32[n], log-odds of the statements. Only numbered steps tell how something goes on that nobody is to
    do (`asks_course`). Of steps that are too long the first sentences are told, and the likeliest one.
    """
    sections: dict[tuple[int, str], list[int]] = {}
    for at, statement in enumerate(statements):
        sections.setdefault((statement.source.number, statement.heading), []).append(at)
    question_terms = set(tokenizer.terms(question)) - stop_words()

    def worth(key: tuple[int, str]) -> float:
        places = sections[key]
        best = np.sort(scores[places])[-BEST:]
        heading_terms = set(tokenizer.terms(key[1])) - stop_words()
        common = len(heading_terms & question_terms)
        shares = common / max(len(question_terms), 1) + common / max(len(heading_terms), 1)
        return float(np.logaddexp.reduce(best)) + HEADING_WEIGHT * shares

    action, is_step = _known_action(question, tokenizer), _is_step if asks_procedure(question) else is_numbered
    worths = {key: worth(key) for key in sections}
    section_worths = {
        key: worths[key]
        for key, places in sections.items()
        if sum(is_step(statements[at]) for at in places) >= LEAST_STEPS
        and _tells_action(action, question, [statements[at] for at in places], tokenizer)
    }
    chosen = max(section_worths, key=section_worths.__getitem__, default=None)
    if chosen is None or section_worths[chosen] < max(worths.values()) - NEARLY_BEST:
        return None
    best = statements[max(sections[chosen], key=lambda at: float(scores[at]))]
    return _told([statements[at] for at in sections[chosen]], best)


def _told(section: Sequence[Statement], best: Statement) -> Procedure | None:
    """The steps of a section with what stands around them; alone and shortened where that is too long."""
    units = statement_units(section)
    points = [at for at, unit in enumerate(units) if _is_step(unit[0])]
    whole = Procedure(
        before=tuple(sentence for unit in units[: points[0]] for sentence in unit),
        steps=tuple(map(tuple, units[points[0] : points[-1] + 1])),
        behind=tuple(sentence for unit in units[points[-1] + 1 :] for sentence in unit),
    )
    steps = tuple((step[0], *(s for s in step[1:] if s is best)) for step in whole.steps)
    for procedure in (whole, replace(whole, before=(), behind=()), Procedure(before=(), steps=steps, behind=())):
        if procedure.columns() <= MOST_COLUMNS:
            return procedure
    return None


def is_numbered(statement: Statement) -> bool:
    """Whether its document counts a sentence among steps."""
    if STEP.match(statement.text) is not None:
        return True
    name = _NUMBER.sub("", statement.text)[:NUMBERED_CHARACTERS]
    return statement.is_item and name in _numbered(statement.source.text)


@lru_cache(maxsize=256)
def _numbered(text: str) -> frozenset[str]:
    """How the numbered points of a text begin."""
    return frozenset(plain_text(match[1])[:NUMBERED_CHARACTERS] for match in _NUMBERED.finditer(text))


def _known_action(question: str, tokenizer: Tokenizer) -> str:
    """The verb of what is to be done; "" without one, or for a word that the dictionary does not know: a slip."""
    action, glossary = asked_action(question), glossary_of(tokenizer)
    return action if glossary is None or glossary.translations(action) else ""


def _tells_action(action: str, question: str, section: Sequence[Statement], tokenizer: Tokenizer) -> bool:
    """Whether a section, or the title of its document, speaks of what is to be done: points are no steps of all things.

    Sections in the other language are left to the vectors; the question's other words do not speak of it.
    """
    if not action or are_foreign(question, section[:1]).any():
        return True
    text = " ".join((section[0].source.passage.title, section[0].heading, *(statement.text for statement in section)))
    other_words = {word for word in re.findall(r"[a-z]+", question.lower()) if word != action}
    plain_text = re.sub(r"[A-Za-z]+", lambda word: "" if word[0].lower() in other_words else word[0], text)
    return speaks_of(plain_text, action, tokenizer)


def _is_step(statement: Statement) -> bool:
    return statement.is_item or STEP.match(statement.text) is not None
