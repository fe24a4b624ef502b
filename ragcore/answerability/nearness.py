"""Whether the first source has anything near to the question by meaning.

Signs of words are fitted to questions that were written about a text. Of what people of an organisation ask, three
quarters of what no document holds has no sentence in the first source that is near, whatever words it shares with it.
The limits belong to an embedding model, in one file each; with a model that has none everything is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.extractive.own_language import WORDS_WEIGHT, sources_across
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentences import read_statements
from ragcore.fitted_weights import fitted_weights
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

LIMITS_FILE = "nearness.json"
TERM_WORDS = 1  # of a question that is a term: it has no meaning beyond that word


@dataclass(frozen=True, slots=True)
class Nearness:
    """What the nearest sentence of the first source says of an answer."""

    is_near: bool = True
    lowered: float = 0.0  # log-odds by which the line lies lower, since something is very near
    has_near_sentence: bool = False  # near by a cosine, and not for want of one


def compute_nearness(question: str, sources: Sequence[Source], *, tokenizer: Tokenizer, embedder: Embedder) -> Nearness:
    """Whether a sentence of the first source is near enough for an answer, or so near that little else is needed.

    Of the sources in the question's own language. Where there are none, or no passage has vectors, nothing is said.
    """
    limits = fitted_weights("ragcore.answerability", LIMITS_FILE, embedder.model)
    foreign = {source.number for source in sources_across(question, sources)}
    in_language = [source for source in sources if source.number not in foreign]
    if limits is None or not in_language:
        return Nearness()
    first = next((statements for source in in_language if (statements := read_statements([source], tokenizer))), [])
    cosines = sentence_cosines(question, first, embedder)
    if np.isnan(cosines).all():
        return Nearness()
    nearest = float(np.nanmax(cosines))
    is_term = len(set(tokenizer.terms(question)) - stop_words()) <= TERM_WORDS
    has_near_sentence = nearest >= limits["least"]
    lowered = limits["lowers"] if nearest >= limits["very_near"] else 0.0
    return Nearness(has_near_sentence or is_term, lowered, has_near_sentence)


def across_nearness(features: Mapping[str, float], embedder: Embedder) -> Nearness:
    """The same of sources in the other language, by their signs: the nearest sentence, and the words that it says."""
    limits = fitted_weights("ragcore.answerability", LIMITS_FILE, embedder.model)
    if limits is None:
        return Nearness()
    nearest = features["best"]
    is_near = nearest + WORDS_WEIGHT * features["covered"] >= limits["least_across"]
    is_near = is_near and (features["covered"] >= limits["least_covered"] or nearest >= limits["very_near"])
    return Nearness(is_near, limits["lowers"] if nearest >= limits["very_near"] else 0.0)
