"""Which passages are near enough to a question to be shown where none answers it.

A search always ranks something first. Below a refusal only what shares words or meaning with the question helps to go
on; four passages about other things look like an answer to another question.
"""

from __future__ import annotations

from collections.abc import Sequence

from chat.answering.grounding import numbered_on
from chat.answering.retrieval import SearchOutcome
from knowledge import model_registry
from ragcore.options import RetrievalOptions
from ragcore.options.layers import Resolved
from ragcore.ports import Tokenizer
from ragcore.types import Source, State

# Measured on 33 questions to the documents of everyday questions that none of them answers.
LEAST_RELATED = 0.7  # share of the question's words, and of the line of cosines with its weight, together
LEAST_OF_LONG = 0.6  # the same for a question within a story, of which no passage has most words
LONG = 15  # terms of such a question
MEANING_WEIGHT = 0.6  # of a cosine as a share of `min_cosine`
SHARE_OF_BEST = 0.7
WORDS_ALONE = 0.5  # share of the words, where nothing was searched by meaning


def related_sources(sources: Sequence[Source], outcome: SearchOutcome) -> tuple[Source, ...]:
    """The sources that are related to the question, numbered anew; () where none is. Those of attached files stay.

    Nothing is left out where a site, a set or a request lets everything through (`min_cosine` of 0).
    """
    retrieved = outcome.retrieved
    min_cosine = _line_of_model(retrieved.options)
    if min_cosine <= 0:
        return numbered_on(sources)
    tokenizer = model_registry.tokenizer()
    nearness = {source.number: _nearness(source, retrieved.state, min_cosine, tokenizer) for source in sources}
    is_long = len(set(retrieved.state.query.terms)) >= LONG
    least = max(LEAST_OF_LONG if is_long else LEAST_RELATED, SHARE_OF_BEST * max(nearness.values(), default=0.0))
    named_documents = retrieved.state.named_documents
    return numbered_on(
        [
            s
            for s in sources
            if s.passage.chunk < 0 or s.passage.document in named_documents or nearness[s.number] >= least
        ]
    )


def _line_of_model(resolved: Resolved[RetrievalOptions] | None) -> float:
    """The line of cosines of the embedding model; 0 where a line was set that lets everything through.

    Another line that was set says from where on an answer is believed, which is not what is asked here.
    """
    if resolved is None:
        return RetrievalOptions().min_cosine
    options = resolved.value
    if options.min_cosine <= 0 or options.min_match <= 0:
        return 0.0
    is_of_model = resolved.origin.get("min_cosine", "default") in ("default", "model")
    return options.min_cosine if is_of_model else RetrievalOptions().min_cosine


def _nearness(source: Source, state: State, min_cosine: float, tokenizer: Tokenizer) -> float:
    words = _share_of_words(source, state, tokenizer)
    cosines = state.arms.get("dense") or state.arms.get("coarse")
    if not cosines:
        return words / WORDS_ALONE * LEAST_RELATED
    cosine = cosines.get(source.passage.chunk, min(cosines.values()))
    return words + MEANING_WEIGHT * cosine / min_cosine


def _share_of_words(source: Source, state: State, tokenizer: Tokenizer) -> float:
    """The weighted share of the question's words in a passage with its names; unknown words weigh most."""
    query, passage = state.query, source.passage
    have = set(tokenizer.terms("\n".join((passage.title, *passage.heading_path, source.text))))
    return sum(weight for term, weight in query.weights.items() if term in have) / (
        query.known_and_unknown_weight or 1.0
    )
