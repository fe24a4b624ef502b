"""Neighbours of the keywords of a question, by embedding: terms of the lexicon that may be added to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.stage_ports import Lexicon
from ragcore.text.matching import cosine, written_keywords
from ragcore.text.scripts import cjk_share
from ragcore.understanding.term_names import generations, known_terms, names_of_terms, ordered_names

MOST_NEIGHBOURS = 2  # of one keyword
LEAST_COSINE = 0.55  # of a term that is no other name of the keyword
MOST_CANDIDATES = 12  # of one keyword, whose vectors are made
LEAST_LETTERS = 4  # that a Latin term shares with a keyword


def add_neighbours(
    query: str,
    tokenizer: Tokenizer,
    lexicon: Lexicon | None,
    *,
    vocabulary: Sequence[str] = (),
    embedder: Embedder | None = None,
) -> str:
    """The question with at most two neighbours of each keyword behind it; "" where there are none.

    Of a term that the lexicon knows its other names, those nearest in meaning first; then terms of the vocabulary
    that share a part with the keyword, from a cosine of 0.55 on. Nothing of the question is replaced. `embedder`: None,
    or one that cannot be trusted with the script, leaves the order of the lexicon and adds no other terms.
    """
    if embedder is not None and embedder.trust(cjk_share(query)) <= 0:
        embedder = None
    of_query, by_word = generations(query), _keywords(query, tokenizer, lexicon)
    near = {
        word: [term for term in _sharing(word, vocabulary) if term not in names and generations(term) <= of_query]
        for word, names in by_word
        if embedder is not None
    }
    vectors = _vectors(embedder, [(word, *names, *near[word]) for word, names in by_word]) if embedder else {}
    added: dict[str, str] = {}
    for word, names in by_word:
        ordered = _ordered(word, names, near.get(word, ()), vectors)
        for name in [name for name in ordered if name.casefold() not in query.casefold()][:MOST_NEIGHBOURS]:
            added.setdefault(name.casefold(), name)
    return " ".join((query, *added.values())) if added else ""


def _keywords(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[tuple[str, list[str]]]:
    """Each known term with its other names, then each other keyword as it is written."""
    names = names_of_terms(query, tokenizer, lexicon)
    terms = [(query[start:end], ordered_names(each, query)) for (start, end), each in sorted(names.items())]
    covered = " ".join(query[start:end] for start, end in known_terms(query, tokenizer, lexicon)).casefold()
    rest = dict.fromkeys(written_keywords(query, tokenizer).values())
    return [*terms, *((word, []) for word in rest if word.casefold() not in covered)]


def _ordered(word: str, names: Sequence[str], near: Sequence[str], vectors: Mapping[str, FloatArray]) -> list[str]:
    """Other names, then near terms, the nearest first in each; without vectors the names as they are."""
    if not vectors:
        return list(names)
    cosine_of = {text: float(cosine(vectors[word], vectors[text])) for text in (*names, *near)}
    terms = [term for term in near if cosine_of[term] >= LEAST_COSINE]
    return [*sorted(names, key=lambda name: -cosine_of[name]), *sorted(terms, key=lambda term: -cosine_of[term])]


def _sharing(word: str, vocabulary: Sequence[str]) -> list[str]:
    """Terms with a part in common, two Chinese characters or four letters: of the others hardly any is a neighbour."""
    plain = word.casefold()
    size = LEAST_LETTERS if plain.isascii() else 2
    parts = {plain[at : at + size] for at in range(max(len(plain) - size + 1, 0))}
    if not parts:
        return []
    shares = re.compile("|".join(map(re.escape, parts)))
    terms = [term for term in vocabulary if term.casefold() != plain and shares.search(term.casefold())]
    return sorted(terms, key=lambda term: abs(len(term) - len(word)))[:MOST_CANDIDATES]


def _vectors(embedder: Embedder, groups: Sequence[Sequence[str]]) -> dict[str, FloatArray]:
    """The vector of each text that is compared with another one, all embedded at once."""
    texts = list(dict.fromkeys(text for group in groups if len(group) > 1 for text in group))
    return dict(zip(texts, embedder.embed_queries(texts), strict=True)) if texts else {}
