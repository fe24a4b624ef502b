"""Which sentences a question that names many things is answered by: what it asks, and where that is told.

"According to the 2021 report of Acme Ltd., summarise its risk management" names the document and the task beside what
it asks. Every sentence of the report is about Acme Ltd.; the risk management is what tells them apart. A sentence that
says none of these words often belongs to the answer all the same, because it stands among those that do: a passage on
the matter, and the neighbours of a sentence on it, count too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ragcore.extractive.answer_patterns import QUESTION_WORD
from ragcore.extractive.relevance import TASK
from ragcore.extractive.sentence_model import LEAST_PRIOR
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import TermWeights, idf_in
from ragcore.text.tokenise import stop_words

# of what makes a sentence a point of the answer; chosen on DragonBall's documents of one half, see the decisions
SCORE_WEIGHT = 0.3  # log-odds of the sentence model
OWN_WEIGHT = 8.0  # share of what is asked that the sentence has
AROUND_WEIGHT = 2.5  # the same of its neighbours
PASSAGE_WEIGHT = 6.0  # the same of its whole source
PRIOR_WEIGHT = 2.0  # logarithm of the ranking's score of the source
IN_TURN = 3.0  # how much worse the next sentence of the same document is where a question names several
NEIGHBOURS = (0.25, 0.5, 1.0, 0.5, 0.25)
_FRAME = re.compile(
    rf"\s*(?:(?:according to|based on|considering|from|in)\b[^?]{{0,300}}?,\s+(?=(?:{QUESTION_WORD})\b)"
    r"|(?:根据|根據|依据|依據|按照|结合|結合|基于|基於)[^，,。？?]{0,150}[，,])",
    re.IGNORECASE,
)


def focus_terms(question: str, titles: frozenset[str], tokenizer: Tokenizer) -> tuple[str, ...]:
    """The terms of a question without the names of documents, the words that lead to it and those of the task.

    All its terms where nothing else is left.
    """
    names = frozenset(term for title in titles for term in tokenizer.terms(title))
    for text in (question[match.end() :] if (match := _FRAME.match(question)) else question, question):
        terms = dict.fromkeys(tokenizer.terms(TASK.sub(" ", text)))
        if focus := tuple(t for t in terms if t not in names and t not in stop_words()):
            return focus
    return tuple(dict.fromkeys(tokenizer.terms(question)))


def point_worth(
    question: str, statements: Sequence[Statement], scores: FloatArray, titles: frozenset[str], tokenizer: Tokenizer
) -> FloatArray:
    """float32[n]: how much each sentence is worth as a point of the answer; only differences mean anything.

    `scores`: log-odds of the sentence model. `titles`: titles that the question names; the sentences of several such
    documents take turns.
    """
    if not statements:
        return np.zeros(0, np.float32)
    sets = [frozenset(s.terms) for s in statements]
    weights = idf_in(focus_terms(question, titles, tokenizer), sets)
    terms = {title: _beside(title, weights, tokenizer) for title in {s.source.passage.title for s in statements}}
    coverages = np.array(
        [terms[s.source.passage.title].coverage(present) for s, present in zip(statements, sets, strict=True)]
    )
    numbers = np.array([s.source.number for s in statements])
    best_prior = max(max(s.source.score for s in statements), LEAST_PRIOR)
    priors = np.log([max(s.source.score / best_prior, LEAST_PRIOR) for s in statements])
    worth = SCORE_WEIGHT * (scores - scores.max()) + OWN_WEIGHT * coverages + PRIOR_WEIGHT * priors
    for number in dict.fromkeys(numbers.tolist()):
        places = np.flatnonzero(numbers == number)
        around = np.convolve(coverages[places], NEIGHBOURS)[len(NEIGHBOURS) // 2 :][: len(places)]
        title = statements[places[0]].source.passage.title
        whole = terms[title].coverage(frozenset().union(*(sets[at] for at in places)))
        worth[places] += AROUND_WEIGHT * around + PASSAGE_WEIGHT * whole
    return np.asarray(worth - _turns(worth, statements, titles), np.float32)


def _beside(title: str, weights: Mapping[str, float], tokenizer: Tokenizer) -> TermWeights:
    """The terms that the title of a document does not have: each of its sentences is about the others."""
    present = frozenset(tokenizer.terms(title))
    return TermWeights.of({term: weight for term, weight in weights.items() if term not in present})


def _turns(worth: FloatArray, statements: Sequence[Statement], question_titles: frozenset[str]) -> FloatArray:
    """What each sentence loses for the better ones of its document; 0 for all where fewer than two are named."""
    lost = np.zeros(len(statements), np.float32)
    titles = np.array([s.source.passage.title for s in statements])
    for title in question_titles if len(question_titles) > 1 else ():
        places = np.flatnonzero(titles == title)
        lost[places[np.argsort(-worth[places], kind="stable")]] = IN_TURN * np.arange(len(places))
    return lost
